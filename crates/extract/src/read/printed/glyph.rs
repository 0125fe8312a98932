//! One character of a page with its position and size.

use pdf_extract::Transform;

/// A character. Its position is the start of its baseline, in points from the bottom left of the page after the page is
/// rotated so that the character is upright.
pub(in crate::read) struct Glyph {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub size: f64,
    pub text: String,
    pub quarter_turns: u8,
}

impl Glyph {
    /// Returns none if the parser's numbers make no sense or the glyph is invisible.
    pub fn new(transform: &Transform, width: f64, font_size: f64, text: &str) -> Option<Self> {
        let size = transform.m21.hypot(transform.m22) * font_size;
        let width = (width * transform.m11.hypot(transform.m12) * font_size).max(0.0);
        let is_level = transform.m11.abs() >= transform.m12.abs();
        let (quarter_turns, x, y) = match (is_level, transform.m11 >= 0.0, transform.m12 >= 0.0) {
            (true, true, _) => (0, transform.m31, transform.m32),
            (true, false, _) => (2, -transform.m31, -transform.m32),
            (false, _, true) => (1, transform.m32, -transform.m31),
            (false, _, false) => (3, -transform.m32, transform.m31),
        };
        let is_sane = [x, y, width, size].iter().all(|value| value.is_finite() && value.abs() < 1e6);
        let text = text.to_owned();
        (is_sane && size > 0.5 && !text.is_empty()).then_some(Self { x, y, width, size, text, quarter_turns })
    }
}
