//! Small pages like those on the web.

use crate::document::Builder;
use crate::{Document, Kind, Limits};

fn page(html: &str) -> Document {
    let mut builder = Builder::new(Kind::Html, &Limits::default());
    super::read_page(html.as_bytes(), &mut builder).unwrap();
    builder.finish().unwrap()
}

fn check(html: &str, expected: &[(&str, &str)]) {
    let document = page(html);
    let found: Vec<(String, &str)> =
        document.blocks.iter().map(|block| (block.headings.join(" > "), block.text.as_str())).collect();
    let expected: Vec<(String, &str)> =
        expected.iter().map(|(path, text)| (path.to_string(), *text)).collect();
    assert_eq!(found, expected);
}

#[test]
fn content_is_kept_and_what_surrounds_it_is_not() {
    let html = "<!doctype html><html><head><title>Pumps &amp; oil - Shop</title><style>p{}</style></head><body>
        <header><a href=/>Shop</a></header><nav><ul><li><a href=a>Home</a><li><a href=b>About us</a></ul></nav>
        <div class='side menu'><p>Buy now</p></div><script>var x = '<p>no</p>';</script>
        <h1>Pumps &amp; oil</h1><p>The <b>main</b> pump<br>turns.<p>It is hot.
        <ul><li>oil<ul><li>thick</ul><li><p>water</ul>
        <div hidden>secret</div><footer>Copyright</footer></body>";
    check(
        html,
        &[
            ("Pumps & oil", "The main pump turns."),
            ("Pumps & oil", "It is hot."),
            ("Pumps & oil", "- oil\n  - thick\n- water"),
        ],
    );
    assert_eq!(page(html).title.as_deref(), Some("Pumps & oil"));
}

#[test]
fn the_main_part_is_enough_where_there_is_one() {
    let words = "The pump turns at a constant speed whatever the load. ".repeat(6);
    let html = format!("<body><p>Subscribe to our letter today.<main><h2>Speed</h2><p>{words}</main><p>Bye.");
    check(&html, &[("Speed", words.trim())]);
}

#[test]
fn tables_of_data_are_lines_and_tables_of_layout_are_text() {
    let html = "<table><caption>Pumps<tr><th>Name<th>Speed<tr><td>P-204<td>3000<tr><td>P-205<td>1500</table>";
    check(html, &[("", "Pumps\nName: P-204; Speed: 3000\nName: P-205; Speed: 1500")]);
    let html =
        "<table><tr><td><a href=x>Home</a></td><td><table><tr><td><h2>Oil</h2><p>One.</p><p>Two.</td></tr>
        </table></td></tr></table>";
    check(html, &[("Oil", "One."), ("Oil", "Two.")]);
}

#[test]
fn code_keeps_its_lines_and_entities_are_resolved() {
    check(
        "<pre>fn a() {\n    b &lt; c\n}</pre><p>caf&eacute;",
        &[("", "```\nfn a() {\n    b < c\n}\n```"), ("", "café")],
    );
}

#[test]
fn declared_encodings_are_honoured() {
    let mut builder = Builder::new(Kind::Html, &Limits::default());
    let bytes = b"<html><meta charset=\"iso-8859-2\"><p>P\xf8\xedli\xb9 \xbelu\xbbou\xe8k\xfd k\xf9\xf2";
    super::read_page(bytes, &mut builder).unwrap();
    assert_eq!(builder.finish().unwrap().text(), "Příliš žluťoučký kůň");
}

#[test]
fn a_hundred_thousand_levels_cost_nothing() {
    let html = format!("<html>{}deep{}", "<div><ul><table>".repeat(100_000), "</div>".repeat(100_000));
    assert_eq!(page(&html).text(), "deep");
}

#[test]
fn a_page_of_links_alone_is_still_read() {
    check("<html><ul><li><a href=a>One</a><li><a href=b>Two</a></ul>", &[("", "- One\n- Two")]);
}

#[test]
fn paragraphs_of_an_item_are_lines_and_are_not_glued_to_their_neighbours() {
    let html = "<ol start=2><li><p>Stop the pump.</p><p>It takes a minute.</p><pre class='language-sh'>pump stop</pre></li>
        <li><p>Open it.</p></li></ol><ul><li>One<p>Two</p>Three</li></ul><p>End.";
    check(
        html,
        &[
            ("", "2. Stop the pump.\n  It takes a minute.\n  ```sh\n  pump stop\n  ```\n3. Open it."),
            ("", "- One\n  Two\n  Three"),
            ("", "End."),
        ],
    );
}

#[test]
fn definitions_stand_beside_their_terms() {
    let html =
        "<dl><dt>Type:</dt><dd><p>A pump.</p><p>Or two.</p></dd><dt>head<dd>Pressure.<ul><li>a</ul></dl>";
    check(html, &[("", "- Type: A pump.\n  Or two.\n- head: Pressure.\n  - a")]);
    check("<dl><dt>a<dd>b<dd>c<dt>d<dt>e<dd>f</dl>", &[("", "- a: b\n  c\n- d\n- e: f")]);
}

#[test]
fn a_table_in_a_list_is_a_table_and_the_list_goes_on() {
    let html =
        "<ul><li>One<table><tr><th>Name<th>Speed<tr><td>P-204<td><ul><li>3000</ul></table><li>Two</ul>";
    check(html, &[("", "- One"), ("", "Name: P-204; Speed: - 3000"), ("", "- Two")]);
}

#[test]
fn a_label_that_covers_several_rows_is_in_each() {
    let html = "<table><tr><th>Pump<th>Part<th>Mass<tr><td rowspan=2>P-204<td>seal<td>2<tr><td>shaft<td>9
        <tr><td colspan=2>P-205<td>40</table>";
    check(
        html,
        &[("", "Pump: P-204; Part: seal; Mass: 2\nPump: P-204; Part: shaft; Mass: 9\nPump: P-205; Mass: 40")],
    );
}

#[test]
fn a_long_description_stays_with_its_name() {
    let words = "The pump turns at a constant speed whatever the load. ".repeat(15);
    let html = format!("<table><tr><th>Name<th>Notes<tr><td>P-204<td>{words}<tr><td>P-205<td>None</table>");
    let text = page(&html).text();
    assert!(text.lines().all(|line| line.starts_with("Name: P-20")), "{text}");
}

#[test]
fn two_line_breaks_separate_paragraphs() {
    check("<p>One<br>two.<br>\n<br>Three.", &[("", "One two."), ("", "Three.")]);
}

#[test]
fn preformatted_prose_is_no_code() {
    let prose = "The pump turns at a constant speed whatever the load may be today\n".repeat(9);
    assert!(!page(&format!("<pre>{prose}</pre>")).text().contains("```"));
}

#[test]
fn headings_with_anchors_or_links_are_kept() {
    let html =
        "<h2><a name=a>7.2 Files</a></h2><h3><a href='#b'>7.2.1 confdir</a></h3><p>The folder of the files.";
    check(html, &[("7.2 Files > 7.2.1 confdir", "The folder of the files.")]);
    let html = "<h2>Why C#?<a href='#why'>\u{f0c1}</a></h2><p>It is quick.<h2>Install <a href='#i'>¶</a></h2><p>Run it.";
    check(html, &[("Why C#?", "It is quick."), ("Install", "Run it.")]);
}
