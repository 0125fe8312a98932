//! What is read from a file of each kind.

use extract::{Document, Kind, Limits, extract};

use crate::samples;

pub fn read(name: &str, bytes: &[u8]) -> Document {
    extract(name, bytes, &Limits::default()).unwrap()
}

/// Compares headings, page and text of each block.
pub fn check(document: &Document, expected: &[(&str, Option<u32>, &str)]) {
    let found: Vec<(String, Option<u32>, &str)> = document
        .blocks
        .iter()
        .map(|block| (block.headings.join(" > "), block.page, block.text.as_str()))
        .collect();
    let expected: Vec<(String, Option<u32>, &str)> =
        expected.iter().map(|(headings, page, text)| (headings.to_string(), *page, *text)).collect();
    assert_eq!(found, expected);
}

pub fn title_and_author(document: &Document) -> (&str, &str) {
    (document.title.as_deref().unwrap_or_default(), document.author.as_deref().unwrap_or_default())
}

#[test]
fn docx_has_headings_by_style_lists_and_tables() {
    let document = read("a.docx", &samples::docx());
    assert_eq!(title_and_author(&document), ("Pump & oil", "Ann"));
    check(
        &document,
        &[
            ("Pumps", None, "The main pump < 3."),
            ("Pumps", None, "  - oil"),
            ("Pumps", None, "Name: P-204; Speed: 3000"),
            ("End", None, "Last."),
        ],
    );
}

#[test]
fn docx_lists_have_their_numbers_and_code_its_lines() {
    let item = |list: u8, level: u8, text: &str| {
        format!(
            r#"<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list}"/></w:numPr></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"#
        )
    };
    let code = |text: &str| {
        format!(
            r#"<w:p><w:pPr><w:pStyle w:val="HTMLPreformatted"/><w:tabs><w:tab w:pos="9"/></w:tabs></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"#
        )
    };
    let contents =
        r#"<w:p><w:pPr><w:pStyle w:val="TOC1"/></w:pPr><w:r><w:t>Oil</w:t><w:tab/><w:t>7</w:t></w:r></w:p>"#;
    let body = [
        contents.to_owned(),
        item(1, 0, "Stop."),
        item(1, 1, "slowly"),
        item(1, 0, "Open."),
        code("pump stop"),
        code("  now"),
        item(1, 0, "End."),
    ];
    let numbering = r#"<w:numbering><w:abstractNum w:abstractNumId="4"><w:lvl w:ilvl="0"><w:start w:val="1"/>
        <w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
        <w:num w:numId="1"><w:abstractNumId w:val="4"/></w:num></w:numbering>"#;
    let document = format!("<w:document><w:body>{}</w:body></w:document>", body.concat());
    let file = samples::zip(&[("word/document.xml", &document), ("word/numbering.xml", numbering)]);
    check(
        &read("a.docx", &file),
        &[
            ("", None, "1. Stop.\n  - slowly\n2. Open."),
            ("", None, "```\npump stop\n  now\n```"),
            ("", None, "3. End."),
        ],
    );
}

#[test]
fn a_packed_file_is_read_as_what_it_is() {
    let page = b".TH PUMP 1\n.SH NAME\npump \\- turns\n";
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, page).unwrap();
    let document = read("pump.1.gz", &packed.finish().unwrap());
    assert_eq!(document.kind, Kind::ManPage);
    check(&document, &[("NAME", None, "pump - turns")]);
}

#[test]
fn pptx_has_a_page_for_each_slide_in_the_order_of_the_show() {
    let document = read("a.pptx", &samples::pptx());
    assert_eq!(title_and_author(&document), ("Pump & oil", "Ann"));
    check(
        &document,
        &[
            ("First", Some(1), "Overview\nmore"),
            ("First", Some(1), "Say hello."),
            ("Second", Some(2), "Bubbles\nmore"),
        ],
    );
}

#[test]
fn xlsx_rows_carry_the_names_of_their_columns() {
    let document = read("a.xlsx", &samples::xlsx());
    check(&document, &[("Pumps", None, "Name: P-204; Built: 2024-01-01; On: yes\nOn: 0.3")]);
}

#[test]
fn epub_chapters_come_in_the_order_of_the_spine() {
    for book in [samples::epub(), samples::epub_in_a_folder()] {
        let document = read("a.epub", &book);
        assert_eq!(title_and_author(&document), ("The Book", "Ann"));
        check(
            &document,
            &[("Beginning", None, "Once."), ("The End", None, "It ends."), ("The End", None, "Also.")],
        );
    }
}

#[test]
fn eml_has_its_heads_its_plain_body_and_its_text_attachments() {
    let document = read("a.eml", samples::MAIL.as_bytes());
    assert_eq!(title_and_author(&document), ("Größe", "Ann <ann@example.com>"));
    let heads = "From: Ann <ann@example.com>\nTo: bo@example.com\nDate: 2021-05-03 10:00:00+02:00\nAttachments: notes.txt";
    check(&document, &[("", None, heads), ("", None, "Toö small."), ("notes.txt", None, "Serial: 77")]);
}

#[test]
fn pdf_has_pages_headings_by_size_and_no_running_feet() {
    let page = |lines: &str, number: u32| {
        format!(
            "BT {lines} ET BT /F1 8 Tf 72 30 Td (Journal of Pumps) Tj ET BT /F1 8 Tf 500 30 Td ({number}) Tj ET"
        )
    };
    let first = page(
        "/F1 20 Tf 72 700 Td (Pumps) Tj /F1 10 Tf 0 -30 Td (The pump has a gov-) Tj 0 -12 Td (ernor and an impeller that turn) Tj",
        1,
    );
    let second =
        page("/F1 10 Tf 72 700 Td (without end.) Tj 0 -40 Td (It is [hot]) Tj [(in) -600 (side.)] TJ", 2);
    let document = read("a.pdf", &samples::pdf(&[&first, &second]));
    assert_eq!(title_and_author(&document), ("Pump Report", "Ann"));
    check(
        &document,
        &[
            ("Pumps", Some(1), "The pump has a governor and an impeller that turn without end."),
            ("Pumps", Some(2), "It is [hot]in side."),
        ],
    );
}

#[test]
fn pdf_character_tables_are_read_however_they_begin() {
    let table = "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName a-cmap def\n/CIDSystemInfo <<\n\
        /Registry (Adobe)\n/Ordering (UCS)\n>> def\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n\
        3 beginbfchar\n<0001> <0068>\n<0002> <006f>\n<0003> <0074>\nendbfchar\nendcmap\nend\nend\n";
    let content = "BT /F1 20 Tf 72 700 Td <000100020003> Tj ET";
    let stream = |text: &str| format!("<</Length {}>>stream\n{text}\nendstream", text.len());
    let file = samples::pdf_of(&[
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Count 1/Kids[5 0 R]/MediaBox[0 0 612 792]>>".to_owned(),
        "<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[7 0 R]/ToUnicode 8 0 R>>"
            .to_owned(),
        "<</Title(Hot)>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/Contents 6 0 R/Resources<</Font<</F1 3 0 R>>>>>>".to_owned(),
        stream(content),
        "<</Type/Font/Subtype/CIDFontType2/BaseFont/A/DW 500/FontDescriptor 9 0 R>>".to_owned(),
        stream(table),
        "<</Type/FontDescriptor/FontName/A/Flags 4>>".to_owned(),
    ]);
    let document = extract("hot.pdf", &file, &Limits::default()).unwrap();
    assert!(format!("{document:?}").contains("hot"), "{document:?}");
}

#[test]
fn pdf_lists_are_lines_with_marks_and_wrapped_items_are_whole() {
    let lines = [
        "Before the pump is opened for the first time in the year, please:",
        "* Stop the pump and wait until the pressure gauge shows zero and the",
        "shaft stands still.",
        "* Open the valve.",
        "The pump is then ready to be opened by one person alone, with care.",
    ];
    let page: String = lines.iter().map(|line| format!("0 -14 Td ({line}) Tj ")).collect();
    let document = read("a.pdf", &samples::pdf(&[&format!("BT /F1 10 Tf 72 700 Td {page} ET")]));
    let items = "- Stop the pump and wait until the pressure gauge shows zero and the shaft stands still.\n- Open the valve.";
    check(&document, &[("", Some(1), lines[0]), ("", Some(1), items), ("", Some(1), lines[4])]);
}

#[test]
fn code_is_cut_at_functions_and_never_within_a_line() {
    let document = read("a.rs", b"use a;\n\n/// Doc.\nfn a() {\n\n    b();\n}\n\nfn b() {}\n");
    check(
        &document,
        &[("", None, "use a;"), ("", None, "/// Doc.\nfn a() {\n\n    b();\n}"), ("", None, "fn b() {}")],
    );
}

#[test]
fn every_sample_is_found_by_its_content_alone_where_that_can_be() {
    let telling = [Kind::Html, Kind::Eml, Kind::Docx, Kind::Pptx, Kind::Xlsx, Kind::Epub, Kind::Pdf];
    let telling = [&telling[..], &[Kind::Odt, Kind::Ods, Kind::Odp]].concat();
    for (name, bytes) in samples::all() {
        let kind = read(name, &bytes).kind;
        if telling.contains(&kind) {
            assert_eq!(read("upload", &bytes).kind, kind);
        }
    }
}

#[test]
fn offsets_are_places_in_the_whole_text() {
    for (name, bytes) in samples::all() {
        let document = read(name, &bytes);
        let text: Vec<char> = document.text().chars().collect();
        for block in &document.blocks {
            let there: String = text[block.offset..].iter().take(block.text.chars().count()).collect();
            assert_eq!(there, block.text, "{name}");
        }
    }
}
