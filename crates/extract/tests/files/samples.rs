//! One small file of each kind, built here.

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Returns a sample of every kind with a matching name.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a.txt", b"The pump turns.\n\nIt is hot.".to_vec()),
        (
            "a.md",
            b"# Pumps\n\nThe *main* pump.\n\n- oil\n- water\n\n| a | b |\n|---|---|\n| 1 | 2 |\n".to_vec(),
        ),
        (
            "a.html",
            b"<html><title>T</title><h1>Pumps</h1><p>One &amp; two<ul><li>x</ul><table><tr><td>a<td>b"
                .to_vec(),
        ),
        ("a.csv", b"name,speed\n\"P-204\",3000\nP-205,1500\n".to_vec()),
        ("a.json", br#"{"name": "pump", "parts": [{"id": 1}, {"id": [1, 2]}]}"#.to_vec()),
        ("a.rs", b"fn a() {\n    b();\n}\n\nfn b() {}\n".to_vec()),
        ("a.1", MAN.as_bytes().to_vec()),
        ("a.tex", TEX.as_bytes().to_vec()),
        ("a.ipynb", NOTEBOOK.as_bytes().to_vec()),
        ("a.log", b"10:00:00 start\n10:00:01 stop\n  why\n10:00:02 end\n".to_vec()),
        ("a.dat", b"# a : b\nx:y\nz:w\nu:v\nr:s\np:q\n".to_vec()),
        ("a.eml", MAIL.as_bytes().to_vec()),
        ("a.docx", docx()),
        ("a.pptx", pptx()),
        ("a.xlsx", xlsx()),
        ("a.epub", epub()),
        ("a.pdf", pdf(&["BT /F1 20 Tf 72 700 Td (Pumps) Tj /F1 10 Tf 0 -30 Td (The pump turns.) Tj ET"])),
    ]
}

pub fn zip(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, content) in parts {
        archive.start_file(*path, SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

const CORE: (&str, &str) = (
    "docProps/core.xml",
    "<cp:coreProperties><dc:title>Pump &amp; oil</dc:title><dc:creator>Ann</dc:creator></cp:coreProperties>",
);

pub fn docx_with(body: &str) -> Vec<u8> {
    let styles = r#"<w:styles><w:style w:styleId="Ueberschrift1"><w:name w:val="heading 1"/></w:style>
        <w:style w:styleId="Mine"><w:basedOn w:val="Ueberschrift1"/></w:style></w:styles>"#;
    let document = format!("<?xml version=\"1.0\"?><w:document><w:body>{body}</w:body></w:document>");
    zip(&[CORE, ("word/styles.xml", styles), ("word/document.xml", &document)])
}

pub fn docx() -> Vec<u8> {
    docx_with(
        r#"<w:p><w:pPr><w:pStyle w:val="Ueberschrift1"/></w:pPr><w:r><w:t>Pumps</w:t></w:r></w:p>
        <w:p><w:r><w:t xml:space="preserve">The </w:t></w:r><w:r><w:t>ma&#105;n</w:t><w:tab/><w:t>pump &lt; 3.</w:t></w:r>
        <w:del><w:r><w:t>gone</w:t></w:r></w:del></w:p>
        <w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="2"/></w:numPr></w:pPr><w:r><w:t>oil</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>Name</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Speed</w:t></w:r></w:p></w:tc></w:tr>
        <w:tr><w:tc><w:p><w:r><w:t>P-204</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>3000</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
        <w:p><w:pPr><w:pStyle w:val="Mine"/></w:pPr><w:r><w:t>End</w:t></w:r></w:p><w:p><w:r><w:t>Last.</w:t></w:r></w:p>"#,
    )
}

pub fn pptx() -> Vec<u8> {
    let slide = |title: &str, text: &str| {
        format!(
            r#"<p:sld><p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>{title}</a:t></a:r></a:p></p:sp>
            <p:sp><a:p><a:r><a:t>{text}</a:t></a:r></a:p><a:p><a:r><a:t>more</a:t></a:r></a:p></p:sp>
            <p:sp><p:nvPr><p:ph type="sldNum"/></p:nvPr><a:p><a:t>7</a:t></a:p></p:sp></p:sld>"#
        )
    };
    zip(&[
        CORE,
        (
            "ppt/presentation.xml",
            r#"<p:presentation><p:sldIdLst><p:sldId id="256" r:id="rId2"/><p:sldId id="257" r:id="rId1"/></p:sldIdLst></p:presentation>"#,
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            r#"<Relationships><Relationship Id="rId1" Type="x/slide" Target="slides/slide1.xml"/>
            <Relationship Id="rId2" Type="x/slide" Target="slides/slide2.xml"/></Relationships>"#,
        ),
        ("ppt/slides/slide1.xml", &slide("Second", "Bubbles")),
        ("ppt/slides/slide2.xml", &slide("First", "Overview")),
        (
            "ppt/slides/_rels/slide2.xml.rels",
            r#"<Relationships><Relationship Id="r" Type="x/notesSlide" Target="../notesSlides/n.xml"/></Relationships>"#,
        ),
        (
            "ppt/notesSlides/n.xml",
            r#"<p:notes><p:sp><p:ph type="body"/><a:p><a:t>Say hello.</a:t></a:p></p:sp></p:notes>"#,
        ),
    ])
}

pub fn xlsx() -> Vec<u8> {
    zip(&[
        (
            "xl/workbook.xml",
            r#"<workbook><sheets><sheet name="Pumps" sheetId="1" r:id="a"/></sheets></workbook>"#,
        ),
        (
            "xl/_rels/workbook.xml.rels",
            r#"<Relationships><Relationship Id="a" Type="x/worksheet" Target="worksheets/sheet1.xml"/>
            <Relationship Id="b" Type="x/sharedStrings" Target="sharedStrings.xml"/>
            <Relationship Id="c" Type="x/styles" Target="/xl/styles.xml"/></Relationships>"#,
        ),
        ("xl/sharedStrings.xml", "<sst><si><t>Name</t></si><si><r><t>Bui</t></r><r><t>lt</t></r></si></sst>"),
        (
            "xl/styles.xml",
            r#"<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#,
        ),
        (
            "xl/worksheets/sheet1.xml",
            r#"<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><t>On</t></is></c></row>
            <row r="2"><c r="A2" t="str"><f>x</f><v>P-204</v></c><c r="B2" s="1"><v>45292</v></c><c r="C2" t="b"><v>1</v></c></row>
            <row r="3"><c r="C3"><v>0.30000000000000004</v></c></row></sheetData></worksheet>"#,
        ),
    ])
}

pub fn epub() -> Vec<u8> {
    zip(&EPUB)
}

/// The same book in a folder, as some tools pack it.
pub fn epub_in_a_folder() -> Vec<u8> {
    let names: Vec<String> = EPUB.iter().map(|(name, _)| format!("book/{name}")).collect();
    let parts: Vec<(&str, &str)> =
        names.iter().zip(EPUB).map(|(name, (_, text))| (name.as_str(), text)).collect();
    zip(&parts)
}

const EPUB: [(&str, &str); 6] = [
    ("mimetype", "application/epub+zip"),
    ("META-INF/container.xml", r#"<container><rootfile full-path="OEBPS/book.opf"/></container>"#),
    (
        "OEBPS/book.opf",
        r#"<package><metadata><dc:title>The Book</dc:title><dc:creator>Ann</dc:creator></metadata><manifest>
            <item id="n" href="nav.xhtml" properties="nav"/><item id="b" href="b%20b.xhtml"/><item id="a" href="a.xhtml"/></manifest>
            <spine><itemref idref="n"/><itemref idref="b"/><itemref idref="a"/></spine></package>"#,
    ),
    (
        "OEBPS/nav.xhtml",
        r#"<html><nav><a href="b%20b.xhtml#x">Beginning</a><a href="a.xhtml">End</a></nav></html>"#,
    ),
    (
        "OEBPS/b b.xhtml",
        r#"<html><head><title>x</title><script src="a"/></head><body><p>Once.</p></body></html>"#,
    ),
    ("OEBPS/a.xhtml", "<html><body><h1>The End</h1><p>It ends.</p><nav><p>Also.</p></nav></body></html>"),
];

const MAN: &str = ".TH PUMP 1\n.ie n .B a\n.el \\{\\\n.B b\n.\\}\n.SH NAME\npump \\- \\fBturns\\fR\n.TP\n.BR \\-a \" x\"\nAll.\n.RS\n.IP \\(bu 2\n\
    one\n.RE\n.PP\nEnd.\n.nf\n  code\n.fi\n.TS\nl l.\na\tT{\nb\nT}\n.TE\n.Bl -tag\n.It Fl a Op Ar b\nc\n.El\n";

const TEX: &str = "\\documentclass{a}\\title{Pumps}\n\\begin{document}\n\\section[s]{Oil \\& $x$}% c\nOne \\emph{two}~\\ref{a}.\n\n\
    \\begin{itemize}\n\\item[a] one \\verb+x+\n\\item two\\footnote{n}\n\\end{itemize}\n\\begin{tabular}{ll}\na & b \\\\\nc & d\n\
    \\end{tabular}\n\\begin{verbatim}\n x\n\\end{verbatim}\n\\def\\a#1{b}\n\\end{document}\n";

const NOTEBOOK: &str = r##"{"cells": [{"cell_type": "markdown", "source": ["# Pumps\n", "- oil"]}, {"cell_type": "code",
    "source": "a()", "outputs": [{"output_type": "stream", "text": "1"}, {"data": {"text/plain": ["2"], "image/png": "AA"}}]}]}"##;

pub const MAIL: &str = "From: Ann <ann@example.com>\r\nTo: bo@example.com\r\nSubject: =?utf-8?Q?Gr=C3=B6=C3=9Fe?=\r\n\
    Date: Mon, 3 May 2021 10:00:00 +0200\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n\
    --x\r\nContent-Type: multipart/alternative; boundary=y\r\n\r\n\
    --y\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nTo=F6 small.\r\n\
    --y\r\nContent-Type: text/html\r\n\r\n<p>Other words</p>\r\n--y--\r\n\
    --x\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=notes.txt\r\n\r\nSerial: 77\r\n--x--\r\n";

/// Returns a PDF with a page for each content stream, in a font whose letters are half as wide as they are high.
pub fn pdf(pages: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 5 + 2 * page)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Count {}/Kids[{}]/MediaBox[0 0 612 792]>>", pages.len(), kids.join(" ")),
        format!(
            "<</Type/Font/Subtype/TrueType/BaseFont/Sample/Encoding/WinAnsiEncoding/FirstChar 32/LastChar 126/Widths[{}]>>",
            "500 ".repeat(95)
        ),
        "<</Title(Pump Report)/Author(Ann)>>".to_owned(),
    ];
    for (page, content) in pages.iter().enumerate() {
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/Contents {} 0 R/Resources<</Font<</F1 3 0 R>>>>>>",
            6 + 2 * page
        ));
        objects.push(format!("<</Length {}>>stream\n{content}\nendstream", content.len()));
    }
    pdf_of(&objects)
}

/// Returns a PDF of these objects, numbered from 1: the first is the catalogue, the fourth the information.
pub fn pdf_of(objects: &[String]) -> Vec<u8> {
    let mut file = "%PDF-1.4\n".to_owned();
    let mut table = "0000000000 65535 f \n".to_owned();
    for (number, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.push_str(&format!("{} 0 obj{object}endobj\n", number + 1));
    }
    let (start, size) = (file.len(), objects.len() + 1);
    file.push_str(&format!(
        "xref\n0 {size}\n{table}trailer<</Size {size}/Root 1 0 R/Info 4 0 R>>\nstartxref\n{start}\n%%EOF"
    ));
    file.into_bytes()
}
