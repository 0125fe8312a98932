//! Two sentences that stand for a text: those nearest to the middle of all of them.

use inference::{Engine, Priority};

const SENTENCES: usize = 2;
/// More than this are not compared.
const MOST_SENTENCES: usize = 64;

/// In the order of the text. Without an encoder: the first ones.
pub async fn summarize(engine: Option<&Engine>, text: &str) -> String {
    let ranges = extract::sentences(text).into_iter().take(MOST_SENTENCES);
    let sentences: Vec<String> = ranges.map(|range| text[range].to_owned()).collect();
    if sentences.len() <= SENTENCES {
        return sentences.join(" ");
    }
    let embeddings = engine.and_then(|engine| engine.embed(sentences.clone(), Priority::Interactive).ok());
    let vectors = match embeddings {
        Some(embeddings) => embeddings.await.unwrap_or_default(),
        None => Vec::new(),
    };
    let mut chosen = if vectors.is_empty() { (0..SENTENCES).collect() } else { most_central(&vectors) };
    chosen.sort_unstable();
    let chosen: Vec<&str> = chosen.iter().map(|index| sentences[*index].as_str()).collect();
    chosen.join(" ")
}

/// The one nearest to the mean, then the one that is near to it and says something else.
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

    #[test]
    fn the_middle_goes_first_and_a_repetition_is_passed_over() {
        let vectors = vec![vec![1.0, 0.0], vec![0.8, 0.6], vec![0.8, 0.6], vec![0.0, 1.0]];
        assert_eq!(most_central(&vectors)[0], 1);
        assert_ne!(most_central(&vectors)[1], 2);
    }

    #[tokio::test]
    async fn short_texts_stay_as_they_are() {
        assert_eq!(summarize(None, "Learn to weld. Build a bridge.").await, "Learn to weld. Build a bridge.");
        assert_eq!(summarize(None, "").await, "");
    }
}
