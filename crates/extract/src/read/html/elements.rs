//! What HTML elements mean to the reader, by name.

use html5ever::tokenizer::states::RawKind;

/// Elements that hold blocks of content.
#[rustfmt::skip]
const SECTIONS: [&str; 17] = [
    "article", "aside", "blockquote", "details", "div", "dl", "figure", "footer", "form", "header", "main", "menu",
    "nav", "ol", "section", "table", "ul",
];

/// Elements whose content a reader of the page does not see as text.
#[rustfmt::skip]
const HIDDEN: [&str; 10] = [
    "audio", "button", "canvas", "datalist", "noscript", "object", "select", "svg", "template", "video",
];

#[rustfmt::skip]
const OTHER_BLOCKS: [&str; 27] = [
    "address", "body", "button", "caption", "center", "dd", "dt", "fieldset", "figcaption", "h1", "h2", "h3", "h4", "h5",
    "h6", "li", "noscript", "option", "p", "pre", "select", "summary", "svg", "td", "template", "th", "tr",
];

/// Returns whether the element starts and ends a paragraph.
pub(super) fn is_block(name: &str) -> bool {
    SECTIONS.contains(&name) || OTHER_BLOCKS.contains(&name)
}

/// Returns whether the region of the element is kept while it is open.
pub(super) fn is_container(name: &str) -> bool {
    SECTIONS.contains(&name) || is_hidden(name) || matches!(name, "span" | "p" | "li" | "td")
}

pub(super) fn is_hidden(name: &str) -> bool {
    HIDDEN.contains(&name)
}

/// Returns whether it is a sign at the end of a heading that links to it: "Install ¶".
pub(super) fn is_link_sign(c: char) -> bool {
    c.is_whitespace() || matches!(c, '¶' | '§' | '🔗' | '\u{e000}'..='\u{f8ff}')
}

/// Returns how the content of an element is read that holds no markup.
pub(super) fn raw_kind(name: &str) -> Option<RawKind> {
    match name {
        "title" | "textarea" => Some(RawKind::Rcdata),
        "style" | "iframe" | "noembed" | "noframes" | "xmp" => Some(RawKind::Rawtext),
        "script" => Some(RawKind::ScriptData),
        _ => None,
    }
}
