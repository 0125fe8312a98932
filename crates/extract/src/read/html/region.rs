//! The region of a page that an element belongs to: main part, body, navigation and the like, or hidden.

use super::elements;
use html5ever::tokenizer::Tag;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Region {
    Main,
    #[default]
    Body,
    /// Navigation, headers and footers of the site, advertisements.
    Aside,
    Hidden,
}

impl Region {
    /// Returns the region of what is inside this element, if the element itself is in `self`.
    pub fn inside(self, tag: &Tag) -> Self {
        let own = own_region(tag);
        match (self, own) {
            (Self::Main, Self::Aside) if &*tag.name == "header" => Self::Main,
            (Self::Main, Self::Body) => Self::Main,
            (Self::Main | Self::Body, own) => own,
            (outer, own) => outer.max(own),
        }
    }
}

fn own_region(tag: &Tag) -> Region {
    if is_hidden(tag) {
        return Region::Hidden;
    }
    match &*tag.name {
        "main" | "article" => return Region::Main,
        "nav" | "footer" | "aside" | "header" => return Region::Aside,
        _ => {}
    }
    match attribute(tag, "role") {
        Some("main") => return Region::Main,
        Some("navigation" | "banner" | "contentinfo" | "search" | "complementary" | "menu" | "dialog") => {
            return Region::Aside;
        }
        _ => {}
    }
    let names = [attribute(tag, "class"), attribute(tag, "id")];
    let mut words =
        names.into_iter().flatten().flat_map(|names| names.split(|c: char| !c.is_ascii_alphanumeric()));
    if words.any(|word| EDGES.iter().any(|edge| word.eq_ignore_ascii_case(edge))) {
        Region::Aside
    } else {
        Region::Body
    }
}

fn is_hidden(tag: &Tag) -> bool {
    let style = attribute(tag, "style").map(|style| style.replace(' ', "").to_ascii_lowercase());
    elements::is_hidden(&tag.name)
        || attribute(tag, "hidden").is_some()
        || attribute(tag, "aria-hidden") == Some("true")
        || style.is_some_and(|style| style.contains("display:none"))
}

pub(super) fn attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

const EDGES: [&str; 18] = [
    "ad",
    "ads",
    "advert",
    "breadcrumb",
    "breadcrumbs",
    "cookie",
    "cookies",
    "footer",
    "masthead",
    "menu",
    "nav",
    "navbar",
    "navigation",
    "pagination",
    "share",
    "sharing",
    "sidebar",
    "social",
];
