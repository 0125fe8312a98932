//! One small file of each kind, built here.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

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
        ("a.odt", odt()),
        ("a.ods", ods()),
        ("a.odp", odp()),
        ("a.fodt", flat_odt()),
        (
            "a.srt",
            b"1\n00:00:01,000 --> 00:00:02,000\n<i>One</i> two.\n\n2\n00:01:02,5 --> 00:01:03,0\nThree.\n"
                .to_vec(),
        ),
        ("a.vtt", b"WEBVTT\n\nNOTE x\n\na\n00:01.000 --> 00:02.000 line:0\n<v Ann>One &amp; two.\n".to_vec()),
        ("a.rtf", RTF.as_bytes().to_vec()),
        ("a.epub", epub()),
        ("a.pdf", pdf(&["BT /F1 20 Tf 72 700 Td (Pumps) Tj /F1 10 Tf 0 -30 Td (The pump turns.) Tj ET"])),
    ]
}

pub fn zip(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, content) in parts {
        // The kind of a file stands at its start, to be seen without unpacking.
        let method =
            if *path == "mimetype" { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        archive.start_file(*path, SimpleFileOptions::default().compression_method(method)).unwrap();
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
            <p:sp><a:p><a:pPr><a:tabLst><a:tab pos="0"/></a:tabLst></a:pPr><a:r><a:t>{text}</a:t></a:r></a:p><a:p><a:r><a:t>more</a:t></a:r></a:p></p:sp>
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

const ODF_META: (&str, &str) = (
    "meta.xml",
    "<office:document-meta><office:meta><dc:creator>Bo</dc:creator><dc:title>Pump &amp; oil</dc:title>\
     <meta:initial-creator>Ann</meta:initial-creator></office:meta></office:document-meta>",
);

const ODT_STYLES: &str = r#"<office:styles><style:style style:name="Heading_20_2" style:family="paragraph"
    style:default-outline-level="2"/></office:styles>"#;

const ODT_BODY: &str = r#"<office:automatic-styles><style:style style:name="P1" style:family="paragraph" style:parent-style-name="Heading_20_2"/>
    <style:style style:name="P2" style:family="paragraph" style:parent-style-name="Preformatted_20_Text"/>
    <text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1"/>
    <text:list-level-style-bullet text:level="2"/></text:list-style></office:automatic-styles>
    <office:body><office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>
    <text:table-of-content><text:p>Pumps 7</text:p></text:table-of-content>
    <text:h text:outline-level="1">Pumps</text:h>
    <text:p>The <text:span>main</text:span><text:tab/>pump<text:s text:c="2"/>&lt; 3.<text:note><text:note-citation>1</text:note-citation>
    <text:note-body><text:p>It is old.</text:p></text:note-body></text:note> Hot.<office:annotation><text:p>why?</text:p></office:annotation></text:p>
    <text:p text:style-name="P1">Oil</text:p>
    <text:list text:style-name="L1"><text:list-item><text:p>Stop.</text:p><text:list><text:list-item><text:p>slowly</text:p></text:list-item>
    </text:list></text:list-item><text:list-item><text:p>Open.</text:p></text:list-item></text:list>
    <text:p text:style-name="P2">pump<text:s text:c="3"/>stop</text:p><text:p text:style-name="P2"><text:s/>now</text:p>
    <text:list text:style-name="L1" text:continue-numbering="true"><text:list-item><text:p>End.</text:p></text:list-item></text:list>
    <table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Name</text:p></table:table-cell>
    <table:table-cell><text:p>Speed</text:p></table:table-cell></table:table-row></table:table-header-rows>
    <table:table-row><table:table-cell><text:p>P-204</text:p></table:table-cell><table:table-cell><text:p>3000</text:p></table:table-cell></table:table-row>
    </table:table></office:text></office:body>"#;

fn open_document(kind: &str, styles: &str, body: &str) -> Vec<u8> {
    let mime = format!("application/vnd.oasis.opendocument.{kind}");
    let content = format!("<?xml version=\"1.0\"?><office:document-content>{body}</office:document-content>");
    let styles = format!("<office:document-styles>{styles}</office:document-styles>");
    zip(&[
        ("mimetype", &mime),
        ODF_META,
        ("styles.xml", &styles),
        ("content.xml", &content),
        ("META-INF/manifest.xml", "<manifest:manifest/>"),
    ])
}

pub fn odt() -> Vec<u8> {
    open_document("text", ODT_STYLES, ODT_BODY)
}

/// The same document as a single XML file.
pub fn flat_odt() -> Vec<u8> {
    let meta = ODF_META.1.replace("document-meta", "part");
    let mime = "application/vnd.oasis.opendocument.text";
    format!("<?xml version=\"1.0\"?>\n<office:document office:mimetype=\"{mime}\">{meta}{ODT_STYLES}{ODT_BODY}</office:document>")
        .into_bytes()
}

pub fn ods() -> Vec<u8> {
    let body = r#"<office:body><office:spreadsheet><table:table table:name="Pumps">
        <table:table-row><table:table-cell office:value-type="string"><text:p>Name</text:p></table:table-cell>
        <table:table-cell><text:p>Built</text:p></table:table-cell><table:table-cell><text:p>On</text:p></table:table-cell>
        <table:table-cell table:number-columns-repeated="16381"/></table:table-row>
        <table:table-row><table:table-cell><text:p>P-204<office:annotation><text:p>why?</text:p></office:annotation></text:p></table:table-cell>
        <table:table-cell office:value-type="date" office:date-value="2024-01-01"><text:p>01.01.24</text:p></table:table-cell>
        <table:table-cell office:value-type="boolean" office:boolean-value="true"><text:p>WAHR</text:p></table:table-cell></table:table-row>
        <table:table-row table:number-rows-repeated="2"><table:covered-table-cell table:number-columns-repeated="2"/>
        <table:table-cell office:value-type="float" office:value="0.30000000000000004"><text:p>0,3</text:p></table:table-cell></table:table-row>
        <table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>
        </table:table><table:table table:name="Oil"><table:table-row>
        <table:table-cell office:value-type="currency" office:value="2"><text:p>2.00 EUR</text:p></table:table-cell></table:table-row>
        </table:table></office:spreadsheet></office:body>"#;
    open_document("spreadsheet", "", body)
}

pub fn odp() -> Vec<u8> {
    let slide = |title: &str, text: &str| {
        format!(
            r#"<draw:page draw:name="page1"><draw:frame presentation:class="title"><draw:text-box><text:p>{title}</text:p></draw:text-box></draw:frame>
            <draw:frame presentation:class="outline"><draw:text-box><text:list><text:list-item><text:p>{text}</text:p><text:list><text:list-item>
            <text:p>more</text:p></text:list-item></text:list></text:list-item></text:list></draw:text-box></draw:frame>
            <draw:frame presentation:class="page-number"><draw:text-box><text:p>7</text:p></draw:text-box></draw:frame>
            <draw:frame><table:table><table:table-row><table:table-cell><text:p>Name</text:p></table:table-cell><table:table-cell><text:p>Speed</text:p>
            </table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>P-204</text:p></table:table-cell>
            <table:table-cell><text:p>3000</text:p></table:table-cell></table:table-row></table:table></draw:frame>
            <presentation:notes><draw:page-thumbnail/><draw:frame presentation:class="notes"><draw:text-box><text:p>Say {text}.</text:p></draw:text-box></draw:frame>
            </presentation:notes></draw:page>"#
        )
    };
    let slides = format!("{}{}", slide("First", "Overview"), slide("Second", "Bubbles"));
    open_document(
        "presentation",
        "",
        &format!("<office:body><office:presentation>{slides}</office:presentation></office:body>"),
    )
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

const RTF: &str = r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}{\stylesheet{\s1 heading 1;}}{\info{\title T}}
    \pard\s1 Pumps\par\pard Gr\'f6\u223?e {\f1 \'cf}{\footnote old\par}\par{\listtext 1.\tab}\ls1 Stop.\par
    \trowd\cellx1\pard\intbl a\cell b\cell\row\pard{\field{\*\fldinst X}{\fldrslt link}}{\pict 00ff}\bin3 }}}\par}";

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
