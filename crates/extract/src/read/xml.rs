//! Reads XML as a stream of elements and text. No tree is built and no entity of the document is expanded, so that
//! deep nesting and entity bombs cost nothing.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::{ExtractError, Kind};

pub(super) enum Node<'a> {
    Open(Element<'a>),
    /// Also sent after a self-closing element.
    Close(&'a str),
    Text(&'a str),
}

pub(super) struct Element<'a> {
    /// Without its namespace.
    pub name: &'a str,
    start: &'a BytesStart<'a>,
}

impl Element<'_> {
    /// Returns an attribute by its name without the namespace.
    pub fn attribute(&self, name: &str) -> Option<String> {
        self.attributes(name).next()
    }

    /// Returns all attributes with this name, in any namespace.
    pub fn attributes(&self, name: &str) -> impl Iterator<Item = String> {
        let mut attributes = self.start.attributes();
        attributes.with_checks(false);
        let named = attributes
            .flatten()
            .filter(move |attribute| attribute.key.local_name().as_ref() == name.as_bytes());
        named.filter_map(|attribute| {
            let value = std::str::from_utf8(&attribute.value).ok()?;
            Some(quick_xml::escape::unescape(value).map_or_else(|_| value.to_owned(), Cow::into_owned))
        })
    }
}

/// Calls `visit` with each node in order.
pub(super) fn walk(
    xml: &[u8],
    kind: Kind,
    mut visit: impl FnMut(Node) -> Result<(), ExtractError>,
) -> Result<(), ExtractError> {
    let text =
        crate::decode::text(xml, None).ok_or_else(|| ExtractError::damaged(kind, "a part is not XML"))?;
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    loop {
        match reader.read_event().map_err(|error| ExtractError::damaged(kind, error))? {
            Event::Start(start) => open(&start, &mut visit)?,
            Event::Empty(start) => {
                open(&start, &mut visit)?;
                visit(Node::Close(utf8(start.local_name().as_ref())))?;
            }
            Event::End(end) => visit(Node::Close(utf8(end.local_name().as_ref())))?,
            Event::Text(text) => visit(Node::Text(utf8(&text)))?,
            Event::CData(text) => visit(Node::Text(utf8(&text)))?,
            Event::GeneralRef(reference) => {
                let known = quick_xml::escape::resolve_predefined_entity(utf8(&reference));
                match (reference.resolve_char_ref(), known) {
                    (Ok(Some(c)), _) => visit(Node::Text(c.encode_utf8(&mut [0; 4])))?,
                    (_, Some(text)) => visit(Node::Text(text))?,
                    _ => {}
                }
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

fn open(
    start: &BytesStart,
    visit: &mut impl FnMut(Node) -> Result<(), ExtractError>,
) -> Result<(), ExtractError> {
    visit(Node::Open(Element { name: utf8(start.local_name().as_ref()), start }))
}

fn utf8(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
