//! Takes objects out of a list that object_store has no names for, such as `a//b`: it would refuse the whole list.

use object_store::path::Path;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;
use std::ops::Range;

/// Returns a list without the objects whose keys cannot be read. A list that is no XML is returned as it is.
pub(super) fn without_odd(list: Vec<u8>) -> Vec<u8> {
    let odd = odd_objects(&list).unwrap_or_default();
    if odd.is_empty() {
        return list;
    }
    let mut kept = Vec::with_capacity(list.len());
    let mut end = 0;
    for range in odd {
        kept.extend_from_slice(&list[end..range.start]);
        end = range.end;
    }
    kept.extend_from_slice(&list[end..]);
    kept
}

/// Returns where in a list the elements of such objects are.
fn odd_objects(list: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut reader = Reader::from_reader(list);
    let (mut odd, mut start, mut key) = (Vec::new(), 0, None::<String>);
    let mut is_odd = false;
    loop {
        let before = usize::try_from(reader.buffer_position()).ok()?;
        match reader.read_event().ok()? {
            Event::Start(tag) if tag.local_name().as_ref() == b"Contents" => {
                (start, is_odd) = (before, false)
            }
            Event::Start(tag) if tag.local_name().as_ref() == b"Key" => key = Some(String::new()),
            Event::Text(piece) => add(&mut key, &String::from_utf8_lossy(&piece)),
            Event::CData(piece) => add(&mut key, &String::from_utf8_lossy(&piece)),
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(c)) => add(&mut key, c.encode_utf8(&mut [0; 4])),
                _ => add(&mut key, resolve_predefined_entity(&String::from_utf8_lossy(&reference))?),
            },
            Event::End(tag) if tag.local_name().as_ref() == b"Contents" => {
                let end = usize::try_from(reader.buffer_position()).ok()?;
                odd.extend(is_odd.then_some(start..end));
            }
            Event::End(_) => is_odd |= key.take().is_some_and(|key| !is_readable(&key)),
            Event::Eof => return Some(odd),
            _ => {}
        }
    }
}

/// Returns whether object_store asks for this key, and for no other. Markers of folders end with `/`, and have nothing.
fn is_readable(key: &str) -> bool {
    Path::parse(key).is_ok_and(|path| path.as_ref() == key)
}

fn add(key: &mut Option<String>, piece: &str) {
    if let Some(key) = key {
        key.push_str(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_with_odd_keys_are_taken_out() {
        let object = |key: &str| format!("<Contents><ETag>1</ETag><Key>{key}</Key></Contents>");
        let list = |keys: &[&str]| -> String {
            let objects: String = keys.iter().map(|key| object(key)).collect();
            format!("<?xml version='1.0'?>\n<List>{objects}<Name>a//b</Name></List>")
        };
        let all = ["a", "a//b", "b &amp;&#38; ü", "../c", "./d", "/e", "f/", "g&#47;/h", "a/b.txt"];
        let kept = without_odd(list(&all).into_bytes());
        assert_eq!(String::from_utf8(kept).unwrap(), list(&["a", "b &amp;&#38; ü", "a/b.txt"]));
        for broken in ["", "<List><Contents><Key>a//b</Key>", "no list", "<List>&unknown;<a"] {
            assert_eq!(without_odd(broken.into()), broken.as_bytes());
        }
    }
}
