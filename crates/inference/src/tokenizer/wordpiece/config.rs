//! Reads a `tokenizer.json` of the one kind that this crate supports, or a plain vocabulary.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ModelError;

/// Tokens that are recognised where a text has them literally.
const SPECIAL_TOKENS: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// The file's truncation and padding are ignored: the caller decides on both.
pub struct Config {
    pub normalizer: NormalizerOptions,
    pub added: HashMap<String, u32>,
    pub template: Template,
    pub model: Model,
}

#[derive(Deserialize)]
pub struct NormalizerOptions {
    pub clean_text: bool,
    pub handle_chinese_chars: bool,
    /// The same as `lowercase` if it is null.
    strip_accents: Option<bool>,
    pub lowercase: bool,
}

#[derive(Deserialize)]
pub struct Model {
    #[serde(rename = "type")]
    kind: String,
    pub vocab: HashMap<String, u32>,
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    pub max_input_chars_per_word: usize,
    unk_token: Option<String>,
}

/// The tokens around every text.
#[derive(Debug, PartialEq)]
pub struct Template {
    pub before: Vec<u32>,
    pub after: Vec<u32>,
}

impl Config {
    pub fn from_json(bytes: &[u8]) -> Result<Self, ModelError> {
        let file: File = serde_json::from_slice(bytes)
            .map_err(|error| ModelError::malformed(format!("`tokenizer.json` cannot be read: {error}")))?;
        expect_kind(&file.model.kind, "model", "WordPiece")?;
        part::<Empty>(file.pre_tokenizer, "pre_tokenizer", "BertPreTokenizer")?;
        Ok(Self {
            normalizer: part(file.normalizer, "normalizer", "BertNormalizer")?,
            added: added_tokens(file.added_tokens)?,
            template: Template::read(file.post_processor)?,
            model: file.model,
        })
    }

    /// Takes the pieces of an uncased BERT, one per line in the order of their ids. All the rest is what such models have.
    pub fn from_vocabulary(pieces: &[u8]) -> Result<Self, ModelError> {
        let pieces = str::from_utf8(pieces)
            .map_err(|error| ModelError::malformed(format!("the vocabulary is no text: {error}")))?;
        let vocab: HashMap<String, u32> = pieces.lines().map(str::to_owned).zip(0..).collect();
        let special = |name: &str| {
            let id = vocab.get(name).copied();
            id.ok_or_else(|| ModelError::malformed(format!("the vocabulary has no piece `{name}`")))
        };
        let template = Template { before: vec![special("[CLS]")?], after: vec![special("[SEP]")?] };
        let added = SPECIAL_TOKENS
            .iter()
            .map(|name| Ok(((*name).to_owned(), special(name)?)))
            .collect::<Result<_, _>>()?;
        let model = Model {
            kind: "WordPiece".to_owned(),
            vocab,
            continuing_subword_prefix: None,
            max_input_chars_per_word: 100,
            unk_token: None,
        };
        Ok(Self { normalizer: NormalizerOptions::UNCASED, added, template, model })
    }
}

impl NormalizerOptions {
    const UNCASED: Self =
        Self { clean_text: true, handle_chinese_chars: true, strip_accents: None, lowercase: true };

    pub fn strips_accents(&self) -> bool {
        self.strip_accents.unwrap_or(self.lowercase)
    }
}

impl Model {
    /// Returns the prefix of pieces that continue a word.
    pub fn prefix(&self) -> &str {
        self.continuing_subword_prefix.as_deref().unwrap_or("##")
    }

    /// Returns the token for words that no pieces make up.
    pub fn unknown(&self) -> Result<u32, ModelError> {
        let name = self.unk_token.as_deref().unwrap_or("[UNK]");
        let id = self.vocab.get(name).copied();
        id.ok_or_else(|| ModelError::malformed(format!("the vocabulary has no token `{name}`")))
    }
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    model: Model,
}

#[derive(Deserialize)]
struct Empty {}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    normalized: bool,
}

fn added_tokens(tokens: Vec<AddedToken>) -> Result<HashMap<String, u32>, ModelError> {
    for token in &tokens {
        if token.single_word || token.lstrip || token.rstrip || token.normalized {
            return Err(ModelError::unsupported(format!(
                "added token `{}`: only those are read that are matched as they stand, without \
                 `single_word`, `lstrip`, `rstrip` and `normalized`",
                token.content
            )));
        }
    }
    Ok(tokens.into_iter().map(|token| (token.content, token.id)).collect())
}

#[derive(Deserialize)]
struct TemplateProcessing {
    single: Vec<TemplatePart>,
    special_tokens: HashMap<String, SpecialToken>,
}

#[derive(Deserialize)]
enum TemplatePart {
    SpecialToken { id: String },
    Sequence {},
}

#[derive(Deserialize)]
struct SpecialToken {
    ids: Vec<u32>,
}

#[derive(Deserialize)]
struct BertProcessing {
    cls: (String, u32),
    sep: (String, u32),
}

impl Template {
    fn read(value: Value) -> Result<Self, ModelError> {
        if value["type"] == "BertProcessing" {
            let BertProcessing { cls, sep } = part(value, "post_processor", "BertProcessing")?;
            return Ok(Self { before: vec![cls.1], after: vec![sep.1] });
        }
        let processing: TemplateProcessing = part(value, "post_processor", "TemplateProcessing")?;
        let mut sides = vec![Vec::new()];
        for part in &processing.single {
            match (part, sides.last_mut()) {
                (TemplatePart::SpecialToken { id }, Some(side)) => {
                    let token = processing.special_tokens.get(id).ok_or_else(|| {
                        ModelError::malformed(format!("the template's token `{id}` is not declared"))
                    })?;
                    side.extend(&token.ids);
                }
                _ => sides.push(Vec::new()),
            }
        }
        let Ok([before, after]) = <[Vec<u32>; 2]>::try_from(sides) else {
            return Err(ModelError::unsupported("a template with other than one sequence"));
        };
        Ok(Self { before, after })
    }
}

fn part<T: DeserializeOwned>(value: Value, name: &str, accepted: &str) -> Result<T, ModelError> {
    expect_kind(value["type"].as_str().unwrap_or("none"), name, accepted)?;
    serde_json::from_value(value)
        .map_err(|error| ModelError::malformed(format!("{name} of `tokenizer.json`: {error}")))
}

fn expect_kind(found: &str, name: &str, accepted: &str) -> Result<(), ModelError> {
    if found == accepted {
        return Ok(());
    }
    Err(ModelError::unsupported(format!("`tokenizer.json` has the {name} `{found}`: `{accepted}` is read")))
}
