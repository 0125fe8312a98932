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
        &[("", "fn a() {\n    b < c\n}"), ("", "café")],
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
