//! Settings of files: what is read of them, and how much owners may have.

use super::layers::Layers;
use super::limit;
use extract::Ocr;
use knowledge::Quotas;

/// The limits on reading an uploaded file.
pub struct ExtractSettings {
    /// Bytes of memory, for all reading processes together.
    pub memory: u64,
    pub characters: usize,
    pub pages: usize,
    pub cells: usize,
    pub ocr: Ocr,
}

impl ExtractSettings {
    pub fn read(layers: &mut Layers) -> Self {
        Self {
            memory: layers.read("extract_memory_mib", extract_memory),
            characters: layers.read("max_text_characters", limit),
            pages: layers.read("max_pages", limit),
            cells: layers.read("max_cells", limit),
            ocr: Ocr {
                languages: layers.read("ocr_languages", ocr_languages),
                pages: layers.read("max_ocr_pages", limit),
                ..Ocr::default()
            },
        }
    }
}

pub fn quotas(layers: &mut Layers) -> Quotas {
    Quotas { user: layers.read("user_quota_mib", quota), space: layers.read("space_quota_mib", quota) }
}

/// Parses the memory of the extractor. With less than 128 MiB, few files could be read.
fn extract_memory(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size in MiB: expected 128 to 1000000");
    let number = text.parse::<u64>().ok().filter(|number| (128..=1_000_000).contains(number));
    number.map(|number| number << 20).ok_or_else(wrong)
}

/// Reads names of languages as `tesseract` has them, joined with `+`.
fn ocr_languages(text: &str) -> Result<String, String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.len() <= 40
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    match text.split('+').all(is_name) {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` does not name languages: expected names as `eng` or `eng+deu`")),
    }
}

/// Reads a number of mebibytes; none if it is empty.
fn quota(text: &str) -> Result<Option<i64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let bytes = text.parse().ok().and_then(|mebibytes: i64| mebibytes.checked_mul(1 << 20));
    bytes.filter(|bytes| *bytes >= 0).map(Some).ok_or_else(|| format!("`{text}` is not a number of MiB"))
}
