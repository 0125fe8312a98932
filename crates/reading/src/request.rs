//! What a text asks for: an answer, or something else. A linear model over hashes of its words, fitted by
//! `training/requests.py`, which computes the same.

use std::collections::HashSet;

/// For each kind its bias and the scale of its weights, then for each hash the weights of all kinds, in bytes.
const MODEL: &[u8] = include_bytes!("../../../models/reader/requests.bin");
const KINDS: usize = 7;
const BUCKETS: u32 = 1 << 14;
const HEAD: usize = KINDS * 8;
const _: () = assert!(MODEL.len() == HEAD + KINDS * BUCKETS as usize);
const MAX_WORDS: usize = 12;
/// How many characters are looked at in pieces.
const MAX_BEGINNING: usize = 60;
/// How likely it must be that a text is no question. Of 253 questions of `bench/answers`, `a` and `b`, two are taken for
/// something else.
const SURE: f32 = 0.5;

/// In the order of the model's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Question,
    Summary,
    Writing,
    Greeting,
    Thanks,
    About,
    Documents,
}

const ALL: [Request; KINDS] = [
    Request::Question,
    Request::Summary,
    Request::Writing,
    Request::Greeting,
    Request::Thanks,
    Request::About,
    Request::Documents,
];

impl Request {
    /// Returns what a text asks for.
    pub fn of(text: &str) -> Self {
        if !text.contains(char::is_alphanumeric) {
            return Self::Question;
        }
        let logits = logits(text);
        let best = ALL.into_iter().zip(logits).max_by(|one, other| one.1.total_cmp(&other.1));
        let share = |most: f32| 1.0 / logits.iter().map(|logit| (logit - most).exp()).sum::<f32>();
        best.filter(|(_, logit)| share(*logit) > SURE).map_or(Self::Question, |(request, _)| request)
    }
}

fn logits(text: &str) -> [f32; KINDS] {
    let hashes = hashes(text);
    let each = (hashes.len().max(1) as f32).sqrt().recip();
    std::array::from_fn(|kind| {
        let number = |at: usize| {
            let bytes = &MODEL[kind * 8 + at..][..4];
            f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
        };
        let weight = |hash: &u32| i32::from(MODEL[HEAD + *hash as usize * KINDS + kind].cast_signed());
        number(0) + number(4) * each * hashes.iter().map(weight).sum::<i32>() as f32
    })
}

/// Returns the hashes of the words, pairs of words and pieces of words.
fn hashes(text: &str) -> HashSet<u32> {
    let text = text.trim().to_lowercase();
    let words = words(&text);
    let mut hashes: HashSet<u32> = words.iter().map(|word| hash(&format!("w{word}"))).collect();
    hashes.extend(words.windows(2).map(|pair| hash(&format!("b{} {}", pair[0], pair[1]))));
    hashes.extend(words.first().map(|word| hash(&format!("f{word}"))));
    hashes.extend(words.last().map(|word| hash(&format!("l{word}"))));
    hashes.insert(hash(&format!("n{}", words.len().min(MAX_WORDS))));
    let beginning: String = text.chars().take(MAX_BEGINNING).collect();
    let beginning: Vec<char> = format!("^{beginning}$").chars().collect();
    for size in 3..=5 {
        hashes.extend(beginning.windows(size).map(|piece| hash(&format!("c{}", String::from_iter(piece)))));
    }
    hashes
}

/// Splits a text into words and the signs that end sentences.
fn words(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    for run in text.split(|c: char| !is_word(c) && !"?!:.".contains(c)) {
        let mut start = 0;
        for (at, sign) in run.char_indices().filter(|(_, c)| !is_word(*c)) {
            words.extend([&run[start..at], &run[at..at + sign.len_utf8()]]);
            start = at + sign.len_utf8();
        }
        words.push(&run[start..]);
    }
    words.retain(|word| !word.is_empty());
    words
}

/// FNV-1a of 32 bits.
fn hash(text: &str) -> u32 {
    let step = |value: u32, byte: u8| (value ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step) % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_in_the_training() {
        assert_eq!(
            words("how's it: 3.5 m? süß_1"),
            ["how", "s", "it", ":", "3", ".", "5", "m", "?", "süß_1"]
        );
        assert_eq!(words(""), [""; 0]);
        assert_eq!(hash("wä"), 0x3b51);
    }

    #[test]
    fn requests_are_told_apart() {
        for (text, request) in [
            ("How often must the seal be replaced?", Request::Question),
            ("tyre pressure rear", Request::Question),
            ("Summarise the lease in five points", Request::Summary),
            ("Please write a short letter to Ms. Vik about the rent.", Request::Writing),
            ("auf Englisch bitte", Request::Writing),
            ("Hello!", Request::Greeting),
            ("thanks, that helped", Request::Thanks),
            ("Who are you?", Request::About),
            ("Which documents do I have?", Request::Documents),
            ("", Request::Question),
            ("?!", Request::Question),
        ] {
            assert_eq!(Request::of(text), request, "{text}");
        }
    }

    /// It was fitted on others; the half that was read while its features were chosen.
    #[test]
    fn most_requests_of_someone_else_are_told_right() {
        let requests = include_str!("../../../bench/requests/read.tsv");
        let right = requests.lines().filter(|line| {
            let (kind, request) = line.split_once('\t').unwrap();
            format!("{:?}", Request::of(request)).to_lowercase() == kind
        });
        assert!(right.count() >= 95);
    }
}
