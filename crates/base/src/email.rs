//! What every email address has.

/// Of a whole address, by RFC 5321.
pub const LONGEST_EMAIL: usize = 254;

/// Splits an email address into its name and its domain. Returns none for a text that is no address: it has one `@`
/// with something on both sides, no space and no control character, and at most 254 bytes.
pub fn split_email(text: &str) -> Option<(&str, &str)> {
    let (name, domain) = text.split_once('@')?;
    let is_plain = !text.contains(|sign: char| sign.is_whitespace() || sign.is_control());
    let is_whole = !name.is_empty() && !domain.is_empty() && !domain.contains('@');
    (is_plain && is_whole && text.len() <= LONGEST_EMAIL).then_some((name, domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_sign_with_text_on_both_sides() {
        assert_eq!(split_email("o'neil+news@example.org"), Some(("o'neil+news", "example.org")));
        assert_eq!(split_email("root@localhost"), Some(("root", "localhost")));
        for text in ["", "ada", "ada@", "@a.org", "a@b@c", "a b@c.org", "a@c.org\nBcc: x", &"a@".repeat(128)]
        {
            assert_eq!(split_email(text), None, "{text}");
        }
        assert_eq!(split_email(&format!("a@{}", "x".repeat(253))), None);
    }
}
