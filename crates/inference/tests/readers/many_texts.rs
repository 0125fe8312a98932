//! Thousands of texts and a digest of all their tokens. The expected digests are those of reference implementations
//! for the same texts.

const FRAGMENTS: [&str; 40] = [
    "the ",
    "Stoa",
    " is",
    "\n",
    "\n\n",
    "  ",
    "    ",
    "don't",
    "I'LL",
    " 'S",
    "2024",
    "\u{ff13}\u{bd}",
    "\u{2167}",
    "naïve",
    "é",
    "日本",
    "한국어",
    "\u{1f469}\u{200d}\u{1f467}",
    "\u{1f1e9}\u{1f1ea}",
    "[SEP]",
    "<|im_end|>",
    "<|im_",
    "</s>",
    "\t",
    "\r\n",
    "\u{a0}",
    "\u{200b}",
    "\u{301}",
    "x_y",
    "fn main() {",
    "\"q\"",
    "-->",
    "=",
    "...",
    "مرحبا",
    "ÅÄÖ",
    "ΣΑΣ",
    "a",
    "Z",
    "%",
];

/// Returns random combinations of fragments, the same in every run.
pub fn many_texts() -> impl Iterator<Item = String> {
    let mut state: u64 = 1;
    let mut below = move |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    (0..5000).map(move |_| (0..below(24)).map(|_| FRAGMENTS[below(FRAGMENTS.len())]).collect())
}

/// Returns the FNV-1a hash of the tokens of all texts.
pub fn digest(tokens: impl Iterator<Item = Vec<u32>>) -> u64 {
    tokens
        .flatten()
        .flat_map(u32::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
