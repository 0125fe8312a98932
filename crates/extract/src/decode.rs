//! Decodes bytes of an unknown encoding.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Returns `None` if the bytes are not text in any encoding. `declared` is the encoding that the file names, as HTML
/// does.
pub(crate) fn text(bytes: &[u8], declared: Option<&'static Encoding>) -> Option<String> {
    let (encoding, bytes) = match Encoding::for_bom(bytes) {
        Some((encoding, length)) => (encoding, &bytes[length..]),
        None => (guess(bytes, declared), bytes),
    };
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    looks_like_text(&text).then(|| text.into_owned())
}

/// Bytes from which the encoding is guessed: enough for the detector, and fast.
const SAMPLE: usize = 64 * 1024;

fn guess(bytes: &[u8], declared: Option<&'static Encoding>) -> &'static Encoding {
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    if sample.contains(&0) {
        return with_zeros(sample);
    }
    if std::str::from_utf8(bytes).is_ok() {
        return UTF_8;
    }
    if let Some(declared) = declared {
        return declared;
    }
    // UTF-8 with a few broken bytes, or cut in the middle of a character.
    let lossy = String::from_utf8_lossy(sample);
    let (broken, multibyte) = lossy.chars().fold((0, 0), |(broken, multibyte), c| match c {
        '\u{fffd}' => (broken + 1, multibyte),
        _ => (broken, multibyte + usize::from(!c.is_ascii())),
    });
    if broken * 10 < multibyte {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Allow)
}

/// Guesses the encoding of bytes with zeros. In UTF-16 the high byte of most letters is zero.
fn with_zeros(sample: &[u8]) -> &'static Encoding {
    let zeros = |start: usize| sample.iter().skip(start).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let half = sample.len() / 2;
    if odd * 4 > half && even * 20 < half {
        return UTF_16LE;
    }
    if even * 4 > half && odd * 20 < half {
        return UTF_16BE;
    }
    // Text with stray zeros is still text; the other control characters of a binary file are found later.
    UTF_8
}

fn looks_like_text(text: &str) -> bool {
    let (mut seen, mut bad) = (0_usize, 0_usize);
    for c in text.chars().take(SAMPLE) {
        seen += 1;
        let is_bad =
            c == '\u{fffd}' || (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}'));
        bad += usize::from(is_bad);
    }
    bad * 20 <= seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(text(bytes, None).as_deref(), Some(expected));
    }

    #[test]
    fn byte_order_marks_decide_and_are_taken_away() {
        check(b"\xef\xbb\xbfna\xc3\xafve", "naïve");
        check(b"\xff\xfea\0\xe4\0", "aä");
        check(b"\xfe\xff\0a\0\xe4", "aä");
    }

    #[test]
    fn sixteen_bits_are_found_without_a_mark() {
        let words = "plain words, nothing else";
        let little: Vec<u8> = words.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = words.encode_utf16().flat_map(u16::to_be_bytes).collect();
        check(&little, words);
        check(&big, words);
    }

    #[test]
    fn legacy_encodings_are_found_by_what_they_spell() {
        let samples = [
            (
                encoding_rs::WINDOWS_1252,
                "Die Größe der Bäume überrascht – sogar die Gärtner “hier” für Jahre.",
            ),
            (
                encoding_rs::SHIFT_JIS,
                "今日は天気がいいので、公園まで散歩に行きました。とても楽しかったです。",
            ),
            (encoding_rs::GB18030, "今天天气很好，所以我们去公园散步。那里的花开得非常漂亮。"),
            (
                encoding_rs::WINDOWS_1251,
                "Сегодня хорошая погода, и мы пошли гулять в парк вместе с друзьями.",
            ),
            (encoding_rs::EUC_KR, "오늘은 날씨가 좋아서 공원에 산책하러 갔습니다."),
        ];
        for (encoding, sample) in samples {
            let (bytes, _, unmappable) = encoding.encode(sample);
            assert!(!unmappable);
            check(&bytes, sample);
        }
    }

    #[test]
    fn one_broken_byte_does_not_turn_utf8_into_something_else() {
        let mut bytes =
            "Größe, Bäume, Gärtner, für, über, schön, weiß, süß, früh, spät, Tür".as_bytes().to_vec();
        bytes.push(0xc3);
        assert!(text(&bytes, None).is_some_and(|text| text.starts_with("Größe")));
    }

    #[test]
    fn machine_code_is_no_text() {
        let noise: Vec<u8> = (0..4000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert_eq!(text(&noise, None), None);
    }
}
