//! Keys: which are accepted, and how they are encoded as file and object names.
//!
//! `#` and `%` are percent-encoded, everything else stays as it is. So no key can be stored under a name that begins with
//! `#`, which the store reserves, or under a name like `name#1`, which object_store uses for staging files.

use object_store::path::Path;

use super::BlobError;

/// S3 accepts 1,024 bytes with the prefix, file systems 255 in each name.
const MAX_KEY_BYTES: usize = 900;
const MAX_SEGMENT_BYTES: usize = 255;

pub(super) fn encode(key: &str) -> Result<Path, BlobError> {
    let refuse = |reason: &str| {
        let shown: String = key.chars().take(64).collect();
        Err(BlobError::InvalidKey(format!("invalid object key `{}`: {reason}", shown.escape_debug())))
    };
    let encoded = escape(key);
    if encoded.len() > MAX_KEY_BYTES {
        return refuse("longer than 900 bytes");
    }
    if key.chars().any(|character| character.is_ascii_control()) {
        return refuse("it has a control character");
    }
    for segment in encoded.split('/') {
        match segment {
            "" => return refuse("it is empty, or begins or ends with `/`, or has `//`"),
            "." | ".." => return refuse("it has `.` or `..` between slashes"),
            long if long.len() > MAX_SEGMENT_BYTES => return refuse("a part is longer than 255 bytes"),
            _ => {}
        }
    }
    Path::parse(&encoded).or_else(|error| refuse(&error.to_string()))
}

/// Returns the folder that holds all keys with this prefix; `None` is the root.
pub(super) fn encode_folder_of(prefix: &str) -> Option<Path> {
    let (folder, _) = prefix.rsplit_once('/')?;
    Path::parse(escape(folder)).ok()
}

/// Returns the key of a name; none if it is a reserved name.
pub(super) fn decode(location: &Path) -> Option<String> {
    let encoded = location.as_ref();
    if encoded.contains('#') {
        return None;
    }
    Some(encoded.replace("%23", "#").replace("%25", "%"))
}

fn escape(key: &str) -> String {
    key.replace('%', "%25").replace('#', "%23")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_keys_come_back_as_they_were() {
        for key in
            ["a", "a/b c.txt", "100%", "%23", "%2523#1", "a#12", "résumé/履歴", "~{^}`[]\\|\"<>?*", "..."]
        {
            let location = encode(key).unwrap();
            assert_eq!(decode(&location).as_deref(), Some(key), "{location}");
        }
    }

    #[test]
    fn keys_that_could_leave_the_folder_or_break_a_name_are_refused() {
        let long_part = "x".repeat(256);
        let long_key = "x/".repeat(450) + "x";
        let refused = [
            "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a\0b", "a\nb", &long_part,
            &long_key,
        ];
        for key in refused {
            assert!(matches!(encode(key), Err(BlobError::InvalidKey(_))), "{key:?}");
        }
    }
}
