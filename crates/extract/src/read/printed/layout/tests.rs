//! Pages of a few lines, set letter by letter.

use super::*;

fn glyph(x: f64, y: f64, c: char) -> Glyph {
    Glyph { x, y, width: 5.0, size: 10.0, text: c.to_string(), quarter_turns: 0 }
}

/// Sets text from `x` at height `y` in 10-point type, each letter half as wide as it is high.
fn set(x: f64, y: f64, text: &str, glyphs: &mut Vec<Glyph>) {
    for (at, c) in text.chars().enumerate() {
        glyphs.push(glyph(x + 5.0 * at as f64, y, c));
    }
}

fn read(glyphs: &[Glyph]) -> Vec<String> {
    lines(glyphs).into_iter().map(|line| line.text).collect()
}

#[test]
fn two_columns_are_read_one_after_the_other_below_their_title() {
    let mut glyphs = Vec::new();
    set(50.0, 700.0, "A title that stands above both of the columns and is as wide as they are", &mut glyphs);
    for line in 0..6 {
        let y = 680.0 - 12.0 * f64::from(line);
        set(50.0, y, &format!("left column of text, line {line} it"), &mut glyphs);
        set(250.0, y, &format!("right column of text, line {line} is"), &mut glyphs);
    }
    let read = read(&glyphs);
    assert!(read[0].starts_with("A title"));
    let sides: Vec<&str> = read[1..].iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(
        sides,
        [
            "left", "left", "left", "left", "left", "left", "right", "right", "right", "right", "right",
            "right"
        ]
    );
}

#[test]
fn the_cells_of_a_table_stay_in_their_rows() {
    let mut glyphs = Vec::new();
    for line in 0..10 {
        let y = 680.0 - 12.0 * f64::from(line);
        set(50.0, y, &format!("P-{line}"), &mut glyphs);
        set(250.0, y, "3000", &mut glyphs);
    }
    assert_eq!(read(&glyphs)[3], "P-3 | 3000");
}

#[test]
fn words_are_told_apart_by_their_distance_and_lines_by_their_height() {
    let mut glyphs = Vec::new();
    set(50.0, 600.0, "below", &mut glyphs);
    set(78.0, 700.0, "words", &mut glyphs);
    set(50.0, 700.0, "Three", &mut glyphs);
    set(106.0, 700.0, "here", &mut glyphs);
    assert_eq!(read(&glyphs), ["Three words here", "below"]);
}

#[test]
fn letters_struck_twice_are_read_once() {
    let mut glyphs = Vec::new();
    for c in [0.0, 5.0] {
        glyphs.push(glyph(50.0 + c, 700.0, 'o'));
        glyphs.push(glyph(50.3 + c, 700.0, 'o'));
    }
    assert_eq!(read(&glyphs), ["oo"]);
}

#[test]
fn arabic_is_read_from_the_right_however_the_file_holds_it() {
    let words = "مضخة الماء تدور";
    let count = words.chars().count();
    // As it is read: the first letter is the rightmost.
    let logical: Vec<Glyph> =
        words.chars().enumerate().map(|(at, c)| glyph(300.0 - 5.0 * at as f64, 700.0, c)).collect();
    assert_eq!(read(&logical), [words]);
    // As it stands on the page: the first character in the file is the leftmost.
    let visual: Vec<Glyph> = words
        .chars()
        .rev()
        .enumerate()
        .map(|(at, c)| glyph(300.0 - 5.0 * (count - 1 - at) as f64, 700.0, c))
        .collect();
    assert_eq!(read(&visual), [words]);
}

#[test]
fn a_number_in_arabic_keeps_its_digits_in_order() {
    let mut glyphs: Vec<Glyph> =
        "مضخة".chars().enumerate().map(|(at, c)| glyph(300.0 - 5.0 * at as f64, 700.0, c)).collect();
    glyphs.extend("204".chars().enumerate().map(|(at, c)| glyph(265.0 + 5.0 * at as f64, 700.0, c)));
    glyphs.extend("تدور".chars().enumerate().map(|(at, c)| glyph(255.0 - 5.0 * at as f64, 700.0, c)));
    assert_eq!(read(&glyphs), ["مضخة 204 تدور"]);
}

#[test]
fn one_large_sign_does_not_make_a_line_large() {
    let mut glyphs = Vec::new();
    set(50.0, 700.0, "the sum of all", &mut glyphs);
    glyphs.push(Glyph { size: 16.0, ..glyph(120.0, 700.0, 'S') });
    assert_eq!(lines(&glyphs)[0].size, 10.0);
}
