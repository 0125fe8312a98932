//! Texts inside of HTML.

/// As it has to stand in a page, or in an attribute between double quotes.
pub fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
