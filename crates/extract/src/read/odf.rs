//! OpenDocument: texts, sheets and slides, in a package or in a single XML file.

mod inline;
mod sheets;
mod slides;
mod styles;
mod text;

use super::package::{Package, is_default_title};
use super::xml::{self, Node};
use crate::document::Builder;
use crate::{ExtractError, Kind, Limits};
use styles::Styles;

pub(super) fn read(bytes: &[u8], builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    let kind = builder.kind();
    let mut styles = Styles::default();
    if !bytes.starts_with(b"PK") {
        properties(bytes, builder)?;
        styles.read(bytes, kind)?;
        return body(bytes, &styles, builder, limits);
    }
    let mut package = Package::open(bytes, kind, limits)?;
    let manifest = package.part("META-INF/manifest.xml")?.unwrap_or_default();
    if memchr::memmem::find(&manifest, b"encryption-data").is_some() {
        return Err(ExtractError::Encrypted(kind));
    }
    if let Some(xml) = package.part("meta.xml")? {
        properties(&xml, builder)?;
    }
    if let Some(xml) = package.part("styles.xml")? {
        styles.read(&xml, kind)?;
    }
    let content = package.required("content.xml")?;
    styles.read(&content, kind)?;
    body(&content, &styles, builder, limits)
}

fn body(xml: &[u8], styles: &Styles, builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    // Also if the file was packed so that its kind cannot be seen from outside.
    let has = |element: &str| memchr::memmem::find(xml, element.as_bytes()).is_some();
    match builder.kind() {
        Kind::Odp => slides::read(xml, builder, limits),
        Kind::Odt if !has("<office:spreadsheet") => match has("<office:presentation>") {
            true => slides::read(xml, builder, limits),
            false => text::read(xml, styles, builder),
        },
        _ => sheets::read(xml, builder, limits),
    }
}

/// Reads title and author. The author is the first one, not the last to save the file.
fn properties(xml: &[u8], builder: &mut Builder) -> Result<(), ExtractError> {
    let (mut text, mut in_meta, mut last_author) = (String::new(), false, String::new());
    xml::walk(xml, builder.kind(), |node| {
        match node {
            Node::Open(element) => {
                in_meta |= element.name == "meta";
                text.clear();
            }
            Node::Text(more) if in_meta => text.push_str(more),
            Node::Text(_) => {}
            Node::Close("meta") => in_meta = false,
            Node::Close("title") if in_meta && !is_default_title(&text) => builder.title(&text),
            Node::Close("initial-creator") if in_meta => builder.author(&text),
            Node::Close("creator") if in_meta => last_author = std::mem::take(&mut text),
            Node::Close(_) => {}
        }
        Ok(())
    })?;
    builder.author(&last_author);
    Ok(())
}
