//! Prepares fonts for the parser. It ignores widths that are given for a range, and words fall apart if characters
//! have no width. It parses each font's program again on every page, although the font's own character table says the
//! same. And it cannot read some such tables.

use pdf_extract::{Dictionary, Document, Object, ObjectId};
use std::collections::BTreeSet;

const RANGES: &[u8] = b"begincodespacerange";

pub(super) fn prepare(document: &mut Document) {
    write_out_widths(document);
    name_encodings(document);
    drop_programs(document);
    shorten_tables(document);
}

/// Removes what precedes the ranges of character tables. The parser stops at some ways to write it, without an error, and
/// knows no character then.
fn shorten_tables(document: &mut Document) {
    let fonts = document.objects.values().filter_map(|object| object.as_dict().ok());
    let tables = fonts.filter_map(|font| font.get(b"ToUnicode").and_then(Object::as_reference).ok());
    for table in tables.collect::<BTreeSet<ObjectId>>() {
        let Ok(Object::Stream(table)) = document.get_object_mut(table) else { continue };
        let Ok(content) = table.get_plain_content() else { continue };
        let Some(ranges) = content.windows(RANGES.len()).position(|part| part == RANGES) else { continue };
        // With the number of ranges before it.
        let before = content[..ranges].trim_ascii_end();
        let start = before.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |end| end + 1);
        table.set_plain_content(content[start..].to_vec());
    }
}

/// Gives fonts with a character table an encoding, without which the parser stops at a character that the table lacks.
fn name_encodings(document: &mut Document) {
    let fonts = document.objects.values_mut().filter_map(|object| object.as_dict_mut().ok());
    for font in
        fonts.filter(|font| font.has_type(b"Font") && font.has(b"ToUnicode") && !font.has(b"Encoding"))
    {
        let is_composite = font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Type0");
        if !is_composite {
            font.set("Encoding", Object::Name(b"WinAnsiEncoding".to_vec()));
        }
    }
}

/// Removes the programs of fonts that have a character table.
fn drop_programs(document: &mut Document) {
    let has_table = |font: &&Dictionary| font.has(b"ToUnicode") && font.has_type(b"Font");
    let fonts = document.objects.values().filter_map(|object| object.as_dict().ok()).filter(has_table);
    let descriptors =
        fonts.filter_map(|font| font.get(b"FontDescriptor").and_then(Object::as_reference).ok());
    for descriptor in descriptors.collect::<Vec<ObjectId>>() {
        if let Ok(descriptor) = document.get_object_mut(descriptor).and_then(Object::as_dict_mut) {
            descriptor.remove(b"FontFile");
            descriptor.remove(b"FontFile2");
        }
    }
}

/// Most characters, in all fonts together, whose widths are written out.
const MOST: usize = 1_000_000;

/// Replaces widths for ranges by one width for each character.
fn write_out_widths(document: &mut Document) {
    let mut left = MOST;
    let fonts = document.objects.iter().filter_map(|(id, object)| {
        let font = object.as_dict().ok()?;
        let (_, widths) = document.dereference(font.get(b"W").ok()?).ok()?;
        Some((*id, Object::Array(written_out(document, widths.as_array().ok()?, &mut left))))
    });
    let fonts: Vec<(ObjectId, Object)> = fonts.collect();
    for (id, widths) in fonts {
        if let Ok(font) = document.get_object_mut(id).and_then(Object::as_dict_mut) {
            font.set("W", widths);
        }
    }
}

/// The array holds `first [width …]` and `first last width` in any order.
fn written_out(document: &Document, widths: &[Object], left: &mut usize) -> Vec<Object> {
    let resolve = |object: &Object| document.dereference(object).map(|(_, object)| object.clone()).ok();
    let mut widths = widths.iter().filter_map(resolve);
    let mut written = Vec::new();
    while let (Some(Object::Integer(first)), Some(next)) = (widths.next(), widths.next()) {
        match next {
            Object::Array(list) if list.iter().all(is_number) => {
                written.extend([Object::Integer(first), Object::Array(list)]);
            }
            Object::Integer(last) => {
                let Some(width) = widths.next().filter(is_number) else { break };
                let count = usize::try_from(last - first + 1).unwrap_or(0).min(*left);
                *left -= count;
                written.extend([Object::Integer(first), Object::Array(vec![width; count])]);
            }
            _ => break,
        }
    }
    written
}

fn is_number(object: &Object) -> bool {
    matches!(object, Object::Integer(_) | Object::Real(_))
}
