//! What is read from OpenDocument files, and how hostile ones are handled.

use extract::{Excess, ExtractError, Kind, Limits, extract};

use crate::formats::{check, read, title_and_author};
use crate::samples;

#[test]
fn texts_have_headings_lists_code_notes_and_tables() {
    for (name, file) in [("a.odt", samples::odt()), ("a.fodt", samples::flat_odt())] {
        let document = read(name, &file);
        assert_eq!(title_and_author(&document), ("Pump & oil", "Ann"));
        check(
            &document,
            &[
                ("Pumps", None, "The main pump < 3. Hot."),
                ("Pumps", None, "It is old."),
                ("Pumps > Oil", None, "1. Stop.\n  - slowly\n2. Open."),
                ("Pumps > Oil", None, "```\npump   stop\n now\n```"),
                ("Pumps > Oil", None, "3. End."),
                ("Pumps > Oil", None, "Name: P-204; Speed: 3000"),
            ],
        );
    }
}

#[test]
fn sheets_have_their_names_and_rows_the_names_of_their_columns() {
    check(
        &read("a.ods", &samples::ods()),
        &[
            ("Pumps", None, "Name: P-204; Built: 2024-01-01; On: yes\nOn: 0.3\nOn: 0.3"),
            ("Oil", None, "2.00 EUR"),
        ],
    );
}

#[test]
fn slides_are_pages_with_titles_tables_and_notes() {
    check(
        &read("a.odp", &samples::odp()),
        &[
            ("First", Some(1), "Overview\n  more"),
            ("First", Some(1), "Name: P-204; Speed: 3000"),
            ("First", Some(1), "Say Overview."),
            ("Second", Some(2), "Bubbles\n  more"),
            ("Second", Some(2), "Name: P-204; Speed: 3000"),
            ("Second", Some(2), "Say Bubbles."),
        ],
    );
}

#[test]
fn paragraphs_in_frames_do_not_mix_with_the_paragraph_around_them() {
    let body = "<text:p>Out<draw:frame><draw:text-box><text:p>In.</text:p></draw:text-box></draw:frame>side.</text:p>";
    let flat = format!(
        "<office:document office:mimetype=\"application/vnd.oasis.opendocument.text\"><office:text>{body}</office:text></office:document>"
    );
    check(&read("a.xml", flat.as_bytes()), &[("", None, "In."), ("", None, "Outside.")]);
}

#[test]
fn an_encrypted_file_is_refused_with_that_word() {
    let file = samples::zip(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        ("content.xml", "\u{1}\u{2}"),
        ("META-INF/manifest.xml", "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"),
    ]);
    let error = extract("a.odt", &file, &Limits::default()).unwrap_err();
    assert_eq!(error, ExtractError::Encrypted(Kind::Odt));
}

#[test]
fn repeated_cells_and_rows_are_bounded() {
    let sheet = |row: &str| {
        let table = format!(
            "<office:spreadsheet><table:table table:name=\"A\">{row}</table:table></office:spreadsheet>"
        );
        samples::zip(&[
            ("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
            ("content.xml", &table),
        ])
    };
    let cell = |repeats: u64, text: &str| {
        format!(
            "<table:table-cell table:number-columns-repeated=\"{repeats}\"><text:p>{text}</text:p></table:table-cell>"
        )
    };
    let rows = |repeats: u64, cells: &str| {
        format!("<table:table-row table:number-rows-repeated=\"{repeats}\">{cells}</table:table-row>")
    };
    let many = extract("a.ods", &sheet(&rows(u64::MAX, &cell(2, "x"))), &Limits::default());
    let too_large = ExtractError::TooLarge { kind: Kind::Ods, what: Excess::Cells, limit: 2_000_000 };
    assert_eq!(many.unwrap_err(), too_large);
    let wide = extract("a.ods", &sheet(&rows(1, &cell(1 << 60, &"x".repeat(1 << 20)))), &Limits::default());
    assert!(wide.is_ok_and(|wide| wide.text().len() < 4 << 20));
}
