//! Pictures in messages: addresses of type `data:`, which have the picture in them. The server fetches no address that a
//! caller names.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llm::Picture;

/// What every vendor reads.
const MEDIA_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// Reads the picture in an address. The error continues a sentence about it.
pub fn read(url: &str) -> Result<Picture, String> {
    let Some(data) = url.strip_prefix("data:") else {
        return Err(
            "is fetched from nowhere: send the picture itself, as `data:image/png;base64,…`".to_owned()
        );
    };
    let Some((media_type, text)) = data.split_once(";base64,") else {
        return Err("has an address that is not `data:image/png;base64,…`".to_owned());
    };
    let media_type = media_type.to_ascii_lowercase();
    if !MEDIA_TYPES.contains(&media_type.as_str()) {
        return Err(format!("is of type `{media_type}`: one of {}", MEDIA_TYPES.join(", ")));
    }
    match BASE64_STANDARD.decode(text) {
        Ok(bytes) if !bytes.is_empty() => Ok(Picture { media_type, bytes: bytes.into() }),
        _ => Err("has a picture that is not in base64".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_that_are_there_are_read() {
        let picture = read("data:image/PNG;base64,iVBORw==").unwrap();
        assert_eq!((picture.media_type.as_str(), &*picture.bytes), ("image/png", &b"\x89PNG"[..]));
        for (url, says) in [
            ("https://host/a.png", "from nowhere"),
            ("file:///etc/passwd", "from nowhere"),
            ("data:,", "is not `data:"),
            ("data:image/svg+xml;base64,AAAA", "is of type `image/svg+xml`"),
            ("data:image/png;base64,", "not in base64"),
            ("data:image/png;base64,#", "not in base64"),
        ] {
            let fault = read(url).unwrap_err();
            assert!(fault.contains(says), "{url}: {fault}");
        }
    }
}
