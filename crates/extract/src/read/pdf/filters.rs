//! Limits how large the streams of a PDF become when their filters are undone. The parser has no limit, and a chain
//! of two filters can make gigabytes of a kilobyte.

use std::io::Read;

use flate2::read::{DeflateDecoder, ZlibDecoder};
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};
use weezl::decode::Decoder;
use weezl::{BitOrder, LzwStatus};

/// Bytes that one stream may unpack to. Page text, fonts and tables are far smaller.
pub(super) const MOST: usize = 64 << 20;
/// Replaces the content of a stream that was too large.
const MARK: &[u8] = b"StoaTooLarge";

/// Empties a stream that is too large before the parser unpacks it, since object streams are unpacked while the file
/// is opened. Pictures and attached files are never unpacked.
pub(super) fn admit(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    match object {
        Object::Stream(stream) if is_picture(stream) => {
            empty(stream);
            Some((id, Object::Null))
        }
        _ => admit_pictures(id, object),
    }
}

/// Does the same, but keeps pictures as they are.
pub(super) fn admit_pictures(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let Object::Stream(stream) = object else { return Some((id, object.clone())) };
    if is_picture(stream) {
        return Some((id, Object::Null));
    }
    if stream.dict.has_type(b"EmbeddedFile") {
        empty(stream);
    } else if !fits(stream, MOST) {
        empty(stream);
        stream.dict.set(MARK, true);
        // An object stream without objects would be dropped together with the replacement.
        stream.dict.remove(b"Type");
    }
    // The loader uses the stream that it lent; of the returned value it uses only objects inside others.
    Some((id, Object::Null))
}

/// Returns whether every stream of an opened file can be unpacked. [`admit`] does not see streams whose length is
/// given elsewhere in the file.
pub(super) fn all_fit(document: &Document) -> bool {
    let mut streams = document.objects.values().filter_map(|object| object.as_stream().ok());
    streams.all(|stream| !stream.dict.has(MARK) && fits(stream, MOST))
}

fn is_picture(stream: &Stream) -> bool {
    stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Image")
}

fn empty(stream: &mut Stream) {
    // An empty content would make the loader read the stream again.
    stream.set_plain_content(b" ".to_vec());
}

fn fits(stream: &Stream, most: usize) -> bool {
    let filters = stream.filters().unwrap_or_default();
    let known: Vec<(&[u8], usize)> =
        filters.into_iter().map_while(|filter| Some((filter, growth(filter)?))).collect();
    let worst = known.iter().fold(stream.content.len(), |size, (_, growth)| size.saturating_mul(*growth));
    if worst <= most {
        return true;
    }
    let parameters = stream.dict.get(b"DecodeParms").and_then(Object::as_dict).ok();
    let mut unpacked: Option<Vec<u8>> = None;
    for (filter, _) in known {
        let packed = unpacked.as_deref().unwrap_or(&stream.content);
        let next = undo(filter, packed, parameters, most);
        if next.len() > most {
            return false;
        }
        unpacked = Some(next);
    }
    true
}

/// Returns by how much a filter can enlarge its input. None for filters that the parser does not know, where it
/// stops.
fn growth(filter: &[u8]) -> Option<usize> {
    match filter {
        b"FlateDecode" => Some(1032),
        b"LZWDecode" => Some(4096),
        b"ASCII85Decode" => Some(4),
        _ => None,
    }
}

/// Returns at most `most + 1` bytes; the extra byte shows that there are more.
fn undo(filter: &[u8], packed: &[u8], parameters: Option<&Dictionary>, most: usize) -> Vec<u8> {
    match filter {
        b"FlateDecode" => inflate(packed, most),
        b"LZWDecode" => unpack_lzw(packed, parameters, most),
        _ => {
            let dictionary = Dictionary::from_iter([("Filter", Object::Name(filter.to_vec()))]);
            Stream::new(dictionary, packed.to_vec()).decompressed_content().unwrap_or_default()
        }
    }
}

/// Does as the parser: keeps what comes before a fault, and if nothing does, tries the stream without a header.
fn inflate(packed: &[u8], most: usize) -> Vec<u8> {
    let mut unpacked = Vec::new();
    let failed = ZlibDecoder::new(packed).take(most as u64 + 1).read_to_end(&mut unpacked).is_err();
    if failed && unpacked.is_empty() && packed.len() > 2 {
        let _ = DeflateDecoder::new(&packed[2..]).take(most as u64 + 1).read_to_end(&mut unpacked);
    }
    unpacked
}

fn unpack_lzw(mut packed: &[u8], parameters: Option<&Dictionary>, most: usize) -> Vec<u8> {
    let early = parameters.and_then(|all| all.get(b"EarlyChange").and_then(Object::as_i64).ok()) != Some(0);
    let mut decoder = match early {
        true => Decoder::with_tiff_size_switch(BitOrder::Msb, 8),
        false => Decoder::new(BitOrder::Msb, 8),
    };
    let (mut unpacked, mut room) = (Vec::new(), vec![0; 64 * 1024]);
    while unpacked.len() <= most {
        let result = decoder.decode_bytes(packed, &mut room);
        unpacked.extend_from_slice(&room[..result.consumed_out]);
        packed = &packed[result.consumed_in..];
        match result.status {
            Ok(LzwStatus::Ok) if result.consumed_in + result.consumed_out > 0 => {}
            _ => break,
        }
    }
    unpacked
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::ZlibEncoder;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        ZlibEncoder::new(bytes, Compression::best()).read_to_end(&mut packed).unwrap();
        packed
    }

    fn stream(filters: &[&str], content: Vec<u8>) -> Stream {
        let names = filters.iter().map(|name| Object::Name(name.as_bytes().to_vec())).collect();
        Stream::new(Dictionary::from_iter([("Filter", Object::Array(names))]), content)
    }

    #[test]
    fn a_chain_is_measured_to_its_end() {
        let zeros = packed(&vec![0; 1 << 20]);
        let once = stream(&["FlateDecode"], zeros.clone());
        assert!(fits(&once, 1 << 20) && !fits(&once, (1 << 20) - 1));
        let twice = stream(&["FlateDecode", "FlateDecode"], packed(&zeros));
        assert!(fits(&twice, 1 << 20) && !fits(&twice, (1 << 20) - 1));
        // The parser stops at a filter that it does not know.
        assert!(fits(&stream(&["DCTDecode", "FlateDecode"], zeros), 2000));
    }

    #[test]
    fn other_filters_count_as_well() {
        let mut encoder = weezl::encode::Encoder::with_tiff_size_switch(BitOrder::Msb, 8);
        let lzw = stream(&["LZWDecode"], encoder.encode(&vec![0; 1 << 20]).unwrap());
        assert!(fits(&lzw, 1 << 20) && !fits(&lzw, (1 << 20) - 1));
        let letters = stream(&["ASCII85Decode"], [&b"z".repeat(1000)[..], b"~>"].concat());
        assert!(fits(&letters, 4000) && !fits(&letters, 3999));
    }

    #[test]
    fn what_cannot_be_unpacked_becomes_no_larger() {
        assert!(fits(&stream(&["FlateDecode"], b"nonsense".repeat(1000)), 8000));
        assert!(fits(&stream(&[], vec![0; 9]), 8), "nothing is unpacked");
    }
}
