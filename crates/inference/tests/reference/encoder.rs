//! The encoder in plain floats.

#[path = "bert.rs"]
mod bert;

use bert::Bert;
use inference::encoder::MAX_TOKENS;
use inference::safetensors::Safetensors;
use inference::tokenizer::WordPiece;
use serde_json::Value;
use std::fs;
use std::path::Path;

pub struct Reference {
    bert: Bert,
    tokenizer: WordPiece,
}

impl Reference {
    pub fn load(folder: &Path) -> Self {
        let read = |name: &str| fs::read(folder.join(name)).unwrap();
        let config: Value = serde_json::from_slice(&read("config.json")).unwrap();
        let heads = config["num_attention_heads"].as_u64().unwrap() as usize;
        let bytes = read("model.safetensors");
        Self {
            bert: Bert::read(&Safetensors::from_bytes(&bytes).unwrap(), heads),
            tokenizer: WordPiece::from_json(&read("tokenizer.json")).unwrap(),
        }
    }

    /// Returns the mean of the tokens' vectors, scaled to length 1.
    pub fn embed(&self, text: &str) -> Vec<f32> {
        let tokens = self.tokenizer.encode(text, MAX_TOKENS);
        let vectors = self.bert.vectors(&tokens, tokens.len());
        let mut sum = vec![0.0; vectors[0].len()];
        vectors.iter().flat_map(|vector| vector.iter().enumerate()).for_each(|(at, value)| sum[at] += value);
        let length = bert::dot(&sum, &sum).sqrt();
        sum.iter().map(|value| value / length).collect()
    }
}
