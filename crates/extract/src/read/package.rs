//! Office files and EPUBs as packages: ZIP archives of XML parts that refer to each other.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::xml::{self, Node};
use crate::document::Builder;
use crate::{Excess, ExtractError, Kind, Limits};

pub(super) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    kind: Kind,
    /// The folder in which all parts are, with its slash; empty for most packages.
    root: String,
    /// Bytes that may still be unpacked.
    left: usize,
    limit: usize,
}

impl<'a> Package<'a> {
    pub fn open(bytes: &'a [u8], kind: Kind, limits: &Limits) -> Result<Self, ExtractError> {
        let archive =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| ExtractError::damaged(kind, error))?;
        if archive.len() > limits.entries {
            return Err(ExtractError::too_large(kind, Excess::FilesInside, limits.entries));
        }
        let limit = limits.unpacked_from(bytes.len());
        Ok(Self { archive, kind, root: String::new(), left: limit, limit })
    }

    /// Reads all parts from the folder in which this one is. Some packages are in a folder of their own.
    pub fn enter_folder_of(&mut self, path: &str) {
        let mut names = self.archive.file_names().flatten();
        let is_inside = |name: &str| name.strip_suffix(path).is_some_and(|folder| folder.ends_with('/'));
        let found = names.find(|name| is_inside(name));
        self.root = found.map_or(String::new(), |name| name[..name.len() - path.len()].to_owned());
    }

    /// Returns `None` if there is no such part.
    pub fn part(&mut self, path: &str) -> Result<Option<Vec<u8>>, ExtractError> {
        let kind = self.kind;
        let path = format!("{}{}", self.root, path.trim_start_matches('/'));
        let entry = match self.archive.by_name(&path) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                return Err(ExtractError::Encrypted(kind));
            }
            Err(error) => return Err(ExtractError::damaged(kind, error)),
        };
        let mut bytes = Vec::new();
        let read = entry.take(self.left as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| ExtractError::damaged(kind, error))?;
        match self.left.checked_sub(bytes.len()) {
            Some(left) => self.left = left,
            None => return Err(ExtractError::too_large(kind, Excess::BytesUnpacked, self.limit)),
        }
        Ok(Some(bytes))
    }

    pub fn required(&mut self, path: &str) -> Result<Vec<u8>, ExtractError> {
        let missing = || ExtractError::damaged(self.kind, format!("it has no part `{path}`"));
        let missing = missing();
        self.part(path)?.ok_or(missing)
    }

    /// Returns the relations of a part by identifier.
    pub fn relations(&mut self, of: &str) -> Result<BTreeMap<String, Relation>, ExtractError> {
        let (folder, file) = of.rsplit_once('/').unwrap_or(("", of));
        let mut relations = BTreeMap::new();
        let Some(xml) = self.part(&format!("{folder}/_rels/{file}.rels"))? else { return Ok(relations) };
        xml::walk(&xml, self.kind, |node| {
            if let Node::Open(element) = node
                && let (Some(id), Some(target)) = (element.attribute("Id"), element.attribute("Target"))
            {
                let kind = element.attribute("Type").unwrap_or_default();
                let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
                relations.insert(id, Relation { kind, path: resolve(folder, &target) });
            }
            Ok(())
        })?;
        Ok(relations)
    }

    /// Reads title and author of an office file.
    pub fn properties(&mut self, builder: &mut Builder) -> Result<(), ExtractError> {
        let Some(xml) = self.part("docProps/core.xml")? else { return Ok(()) };
        let mut text = String::new();
        xml::walk(&xml, self.kind, |node| {
            match node {
                Node::Open(_) => text.clear(),
                Node::Text(more) => text.push_str(more),
                Node::Close("title") if !is_default_title(&text) => builder.title(&text),
                Node::Close("creator") => builder.author(&text),
                Node::Close(_) => {}
            }
            Ok(())
        })
    }
}

pub(super) struct Relation {
    pub kind: String,
    pub path: String,
}

/// Returns whether the title is one that programs write by default.
pub(super) fn is_default_title(title: &str) -> bool {
    let title = title.trim().to_lowercase();
    ["powerpoint presentation", "word document", "untitled", "presentation title", "document"]
        .contains(&title.as_str())
}

/// Returns the path that `target` means in a part of `folder`.
pub(super) fn resolve(folder: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut path: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()),
            _ => path.push(part),
        }
    }
    path.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_relative_to_their_folder() {
        assert_eq!(resolve("ppt/slides", "../notes/a.xml"), "ppt/notes/a.xml");
        assert_eq!(resolve("ppt", "/xl/a.xml"), "xl/a.xml");
        assert_eq!(resolve("", "../../a.xml"), "a.xml");
    }
}
