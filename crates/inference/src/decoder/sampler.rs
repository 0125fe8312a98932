//! Chooses the next token.

/// How the next token is chosen. The default always takes the likeliest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// 0 always takes the likeliest token, 1 samples with the model's probabilities, more makes them flatter.
    pub temperature: f32,
    /// Only this many of the likeliest tokens; 0 for all.
    pub top_k: usize,
    /// Only the likeliest tokens that together have this probability.
    pub top_p: f32,
    /// Divides the logits of tokens that are in the text already; 1 changes nothing.
    pub repetition_penalty: f32,
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.0, top_k: 0, top_p: 1.0, repetition_penalty: 1.0, seed: 0 }
    }
}

/// Tokens at the end of the text that the repetition penalty applies to.
const REPETITION_WINDOW: usize = 256;

pub struct Sampler {
    sampling: Sampling,
    state: u64,
}

impl Sampler {
    pub fn new(sampling: Sampling) -> Self {
        Self { sampling, state: sampling.seed }
    }

    /// Returns the next token after `text`. Overwrites `logits`.
    pub fn choose(&mut self, logits: &mut [f32], text: &[u32]) -> u32 {
        // A damaged model may give NaN, which counts as the least likely.
        logits.iter_mut().filter(|logit| logit.is_nan()).for_each(|logit| *logit = f32::MIN);
        self.penalize(logits, text);
        let Sampling { temperature, top_k, top_p, .. } = self.sampling;
        if temperature <= 0.0 || !temperature.is_finite() {
            return likeliest(logits);
        }
        let mut candidates: Vec<(u32, f32)> = (0..).zip(logits.iter().copied()).collect();
        let by_logit = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1);
        let keep = if top_k == 0 { candidates.len() } else { top_k.min(candidates.len()) };
        if keep < candidates.len() {
            candidates.select_nth_unstable_by(keep, by_logit);
            candidates.truncate(keep);
        }
        candidates.sort_unstable_by(by_logit);
        let highest = candidates.first().map_or(0.0, |candidate| candidate.1);
        let mut sum = 0.0;
        for (_, weight) in &mut candidates {
            *weight = ((*weight - highest) / temperature).exp();
            sum += *weight;
        }
        let mut within = 0.0;
        let likely = candidates.iter().take_while(|(_, weight)| {
            let taken = within < top_p * sum;
            within += weight;
            taken
        });
        let count = likely.count().max(1);
        let total: f32 = candidates[..count].iter().map(|(_, weight)| weight).sum();
        let mut rest = self.fraction() * total;
        for (token, weight) in &candidates[..count] {
            rest -= weight;
            if rest < 0.0 {
                return *token;
            }
        }
        candidates[0].0
    }

    fn penalize(&self, logits: &mut [f32], text: &[u32]) {
        let penalty = self.sampling.repetition_penalty;
        if penalty == 1.0 || penalty.is_nan() || penalty <= 0.0 {
            return;
        }
        let mut seen = text[text.len().saturating_sub(REPETITION_WINDOW)..].to_vec();
        seen.sort_unstable();
        seen.dedup();
        for token in seen {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
            }
        }
    }

    /// Returns a uniform number from 0 to below 1, by the splitmix64 generator.
    fn fraction(&mut self) -> f32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) >> 40) as f32 / (1u64 << 24) as f32
    }
}

fn likeliest(logits: &[f32]) -> u32 {
    let mut best = (0, f32::NEG_INFINITY);
    for (token, logit) in (0..).zip(logits) {
        if *logit > best.1 {
            best = (token, *logit);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(sampling: Sampling, logits: &[f32], text: &[u32]) -> Vec<u32> {
        let mut sampler = Sampler::new(sampling);
        (0..2000).map(|_| sampler.choose(&mut logits.to_vec(), text)).collect()
    }

    fn share(draws: &[u32], token: u32) -> f32 {
        draws.iter().filter(|draw| **draw == token).count() as f32 / draws.len() as f32
    }

    #[test]
    fn at_temperature_zero_the_likeliest_is_taken() {
        assert!(draws(Sampling::default(), &[0.1, 0.9, 0.3], &[]).iter().all(|draw| *draw == 1));
        assert_eq!(Sampler::new(Sampling::default()).choose(&mut [f32::NAN, 0.5, f32::NAN], &[]), 1);
    }

    #[test]
    fn at_temperature_one_tokens_come_as_often_as_the_model_says() {
        let logits = [0.7f32.ln(), 0.2f32.ln(), 0.1f32.ln()];
        let draws = draws(Sampling { temperature: 1.0, ..Sampling::default() }, &logits, &[]);
        assert!((share(&draws, 0) - 0.7).abs() < 0.05 && (share(&draws, 2) - 0.1).abs() < 0.03);
    }

    #[test]
    fn the_same_seed_gives_the_same_text_and_another_another() {
        let with = |seed| draws(Sampling { temperature: 1.0, seed, ..Sampling::default() }, &[0.0; 50], &[]);
        assert_eq!(with(1), with(1));
        assert_ne!(with(1), with(2));
    }

    #[test]
    fn top_k_and_top_p_leave_out_the_unlikely() {
        let logits = [0.5f32.ln(), 0.3f32.ln(), 0.15f32.ln(), 0.05f32.ln()];
        let two = draws(Sampling { temperature: 1.0, top_k: 2, ..Sampling::default() }, &logits, &[]);
        assert!(two.iter().all(|draw| *draw < 2) && share(&two, 1) > 0.3);
        let likely = draws(Sampling { temperature: 1.0, top_p: 0.7, ..Sampling::default() }, &logits, &[]);
        assert!(likely.iter().all(|draw| *draw < 2) && share(&likely, 1) > 0.3);
        let one = draws(Sampling { temperature: 1.0, top_p: 0.0, ..Sampling::default() }, &logits, &[]);
        assert!(one.iter().all(|draw| *draw == 0));
    }

    #[test]
    fn what_was_said_is_less_likely_with_a_penalty() {
        let penalty = Sampling { repetition_penalty: 1.5, ..Sampling::default() };
        assert_eq!(Sampler::new(penalty).choose(&mut [1.0, 0.9], &[0]), 1);
        assert_eq!(Sampler::new(penalty).choose(&mut [-1.0, -1.2], &[0]), 1);
    }
}
