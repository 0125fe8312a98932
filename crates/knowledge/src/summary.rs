//! Summarises a user's goals in two sentences: those of the model if they are faithful to the text, or else the two most
//! central sentences of the text.

use futures_util::StreamExt;
use inference::{Engine, Priority};
use llm::{Caller, Chat, Format, Message, Model, Piece, Purpose, Who};
use std::time::Duration;
use words::{Language, stem_set};

const PROMPT: &str = include_str!("../prompts/goals-summary.md");
const SENTENCES: usize = 2;
/// Sentences that are compared.
const MOST_SENTENCES: usize = 64;
/// The most tokens that the model reads, and that it writes.
const MOST_READ: usize = 1024;
const MOST_WRITTEN: usize = 80;
/// A signup does not wait longer for the model.
const PATIENCE: Duration = Duration::from_secs(4);
/// The share of the summary's words that the text must have.
const FAITHFUL: f32 = 0.7;

/// `user_id` is who waits for it.
pub async fn summarize(model: &Model, engine: Option<&Engine>, user_id: &str, text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let written = tokio::time::timeout(PATIENCE, written(model, user_id, text)).await;
    match written.ok().flatten().filter(|summary| is_faithful(summary, text)) {
        Some(summary) => summary,
        None => extracted(engine, text).await,
    }
}

/// Returns the first two whole sentences that the model writes; none if it fails.
async fn written(model: &Model, user_id: &str, text: &str) -> Option<String> {
    let mut end = 0;
    for range in words::sentences(text) {
        if model.tokens(&text[..range.end]) > MOST_READ {
            break;
        }
        end = range.end;
    }
    let mut reply = model.chat(Chat {
        messages: vec![Message::system(PROMPT.trim()), Message::user(&text[..end])],
        max_tokens: MOST_WRITTEN,
        temperature: 0.0,
        stop: vec!["\n\n".to_owned()],
        seed: 0,
        urgent: true,
        caller: Caller::new(Who::User(user_id.to_owned()), Purpose::Goals),
        tries: llm::USUAL_TRIES,
        tools: None,
        format: Format::Text,
    });
    let mut summary = String::new();
    let mut cut_off = false;
    while let Some(piece) = reply.next().await {
        match piece.ok()? {
            Piece::Text(piece) => summary.push_str(&piece),
            Piece::Call(_) => {}
            Piece::End(usage) => cut_off = usage.cut_off,
        }
    }
    let mut sentences = words::sentences(&summary);
    if cut_off {
        sentences.pop();
    }
    sentences.truncate(SENTENCES);
    let whole: Vec<&str> = sentences.into_iter().map(|range| &summary[range]).collect();
    Some(whole.join(" ")).filter(|summary| !summary.is_empty())
}

fn is_faithful(summary: &str, text: &str) -> bool {
    let language = Language::of(text).unwrap_or_default();
    let (said, known) = (stem_set(summary, language), stem_set(text, language));
    let shared = said.intersection(&known).count();
    shared > 0 && shared as f32 >= FAITHFUL * said.len() as f32
}

/// Returns the most central sentences in the order of the text; without an encoder, the first ones.
async fn extracted(engine: Option<&Engine>, text: &str) -> String {
    let ranges = words::sentences(text).into_iter().take(MOST_SENTENCES);
    let sentences: Vec<String> = ranges.map(|range| text[range].to_owned()).collect();
    if sentences.len() <= SENTENCES {
        return sentences.join(" ");
    }
    let embeddings =
        engine.and_then(|engine| engine.embed("", sentences.clone(), Priority::Interactive).ok());
    let vectors = match embeddings {
        Some(embeddings) => embeddings.await.unwrap_or_default(),
        None => Vec::new(),
    };
    let mut chosen = if vectors.is_empty() { (0..SENTENCES).collect() } else { most_central(&vectors) };
    chosen.sort_unstable();
    let chosen: Vec<&str> = chosen.iter().map(|index| sentences[*index].as_str()).collect();
    chosen.join(" ")
}

/// Chooses the vector nearest to the mean, then one that is near to it and differs from the first.
fn most_central(vectors: &[Vec<f32>]) -> Vec<usize> {
    let dimension = vectors.first().map_or(0, Vec::len);
    let mut mean = vec![0.0; dimension];
    for vector in vectors {
        mean.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value / vectors.len() as f32);
    }
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < SENTENCES.min(vectors.len()) {
        let score = |index: &usize| {
            let repeated =
                chosen.iter().map(|other| dot(&vectors[*index], &vectors[*other])).fold(0.0, f32::max);
            dot(&vectors[*index], &mean) - repeated
        };
        let open = (0..vectors.len()).filter(|index| !chosen.contains(index));
        let best = open.max_by(|one, other| score(one).total_cmp(&score(other)).then(other.cmp(one)));
        chosen.extend(best);
    }
    chosen
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::{Edge, Providers, Vendors};

    #[test]
    fn the_middle_goes_first_and_a_repetition_is_passed_over() {
        let vectors = vec![vec![1.0, 0.0], vec![0.8, 0.6], vec![0.8, 0.6], vec![0.0, 1.0]];
        assert_eq!(most_central(&vectors)[0], 1);
        assert_ne!(most_central(&vectors)[1], 2);
    }

    #[test]
    fn what_is_not_in_the_text_is_no_summary_of_it() {
        let text = "I want to learn welding and to build a bridge over the river.";
        assert!(is_faithful("Learning to weld and building a bridge.", text));
        assert!(!is_faithful("Artificial intelligence will transform the industry.", text));
        assert!(!is_faithful("", text));
    }

    #[tokio::test]
    async fn without_a_model_the_text_stands_for_itself() {
        let providers = Providers::new(Edge::new(None, "none"), Vendors::none(), None).unwrap();
        let summarize = |text| summarize(providers.edge(), None, "ada", text);
        assert_eq!(summarize("Learn to weld. Build a bridge.").await, "Learn to weld. Build a bridge.");
        assert_eq!(summarize("One goal. Two goals. Three goals.").await, "One goal. Two goals.");
        assert_eq!(summarize(" ").await, "");
    }
}
