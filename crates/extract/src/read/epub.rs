//! EPUB: the chapters in the order of the spine, named by their own headings or by the table of contents.

use std::collections::BTreeMap;

use super::html;
use super::package::{Package, resolve};
use super::xml::{self, Node};
use crate::document::Builder;
use crate::{ExtractError, Kind, Limits};

const CONTAINER: &str = "META-INF/container.xml";

pub(super) fn read(bytes: &[u8], builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    let mut package = Package::open(bytes, Kind::Epub, limits)?;
    package.enter_folder_of(CONTAINER);
    if is_protected(&mut package)? {
        return Err(ExtractError::Encrypted(Kind::Epub));
    }
    let path = package_document(&package.required(CONTAINER)?)?;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let book = book(&package.required(&path)?, &folder, builder)?;
    let names = match &book.contents {
        Some(path) => names(&package.part(path)?.unwrap_or_default(), path)?,
        None => BTreeMap::new(),
    };
    for path in &book.chapters {
        if let Some(chapter) = package.part(path)? {
            html::read_chapter(&chapter, names.get(path).map(String::as_str), builder)?;
        }
    }
    Ok(())
}

/// Returns whether text is encrypted, as a seller's copy protection does. Encrypted fonts are common and do not
/// matter.
fn is_protected(package: &mut Package) -> Result<bool, ExtractError> {
    let encryption = package.part("META-INF/encryption.xml")?.unwrap_or_default();
    Ok(memchr::memmem::find(&encryption, b"xmlenc#aes").is_some())
}

fn package_document(container: &[u8]) -> Result<String, ExtractError> {
    let mut path = None;
    xml::walk(container, Kind::Epub, |node| {
        if let Node::Open(element) = node
            && element.name == "rootfile"
            && path.is_none()
        {
            path = element.attribute("full-path");
        }
        Ok(())
    })?;
    path.ok_or_else(|| ExtractError::damaged(Kind::Epub, "it does not say where the book is"))
}

struct Book {
    /// Paths in reading order.
    chapters: Vec<String>,
    /// The path of the table of contents.
    contents: Option<String>,
}

fn book(xml: &[u8], folder: &str, builder: &mut Builder) -> Result<Book, ExtractError> {
    let mut items: BTreeMap<String, String> = BTreeMap::new();
    let (mut spine, mut navigation, mut contents) = (Vec::new(), None, None);
    let mut text = String::new();
    xml::walk(xml, Kind::Epub, |node| {
        match node {
            Node::Text(more) => text.push_str(more),
            Node::Close("title") => builder.title(&text),
            Node::Close("creator") => builder.author(&text),
            Node::Close(_) => {}
            Node::Open(element) => {
                text.clear();
                let path = element.attribute("href").map(|href| resolve(folder, &unescape(&href)));
                match (element.name, element.attribute("id"), path) {
                    ("item", Some(id), Some(path)) => {
                        let properties = element.attribute("properties").unwrap_or_default();
                        if properties.split(' ').any(|property| property == "nav") {
                            navigation = Some(path.clone());
                        }
                        if element.attribute("media-type").is_some_and(|kind| kind.contains("dtbncx")) {
                            contents = Some(path.clone());
                        }
                        items.insert(id, path);
                    }
                    ("itemref", ..) => spine.extend(element.attribute("idref")),
                    _ => {}
                }
            }
        }
        Ok(())
    })?;
    let chapters =
        spine.iter().filter_map(|id| items.get(id)).filter(|path| Some(*path) != navigation.as_ref());
    Ok(Book { chapters: chapters.cloned().collect(), contents: navigation.or(contents) })
}

/// Returns the name of each chapter's file, from either kind of table of contents.
fn names(xml: &[u8], path: &str) -> Result<BTreeMap<String, String>, ExtractError> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut names = BTreeMap::new();
    let (mut text, mut target) = (String::new(), None);
    let mut name = |target: &str, text: &str| {
        let file = target.split('#').next().unwrap_or_default();
        let name = crate::clean::prose(text);
        if !name.is_empty() && !file.is_empty() {
            names.entry(resolve(folder, &unescape(file))).or_insert(name);
        }
    };
    xml::walk(xml, Kind::Epub, |node| {
        match node {
            Node::Text(more) => text.push_str(more),
            // A link contains its name; a navigation point has its label before its target.
            Node::Open(element) => match element.name {
                "a" => {
                    target = element.attribute("href");
                    text.clear();
                }
                "text" => text.clear(),
                "content" => name(&element.attribute("src").unwrap_or_default(), &text),
                _ => {}
            },
            Node::Close("a") => name(&target.take().unwrap_or_default(), &text),
            Node::Close(_) => {}
        }
        Ok(())
    })?;
    Ok(names)
}

/// Decodes percent escapes: "%20" is a space.
fn unescape(href: &str) -> String {
    let mut bytes = Vec::with_capacity(href.len());
    let mut rest = href.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
