//! Follows names to the passages that are about them: names in the question, and names in the best passages, since a
//! question that needs two passages often names only one of them.

use crate::index::Index;
use crate::links::Name;
use crate::scorer::Scorer;
use crate::top_k::{Scored, Scores, first};

/// How far the passage about a name of the question moves towards the score of the best passage.
const QUESTION_PULL: f32 = 0.3;
/// How far the passage about a name in one of the best passages moves towards the score of that passage.
const PASSAGE_PULL: f32 = 0.9;
/// Number of the best passages whose names are followed.
const LEADING: usize = 5;
/// If more passages than this are about a name, only those that were found already are considered.
const FEW: usize = 64;

pub fn follow_names(index: &Index, scorer: &Scorer<'_>, names: &[String], scores: &mut Scores) {
    let hop = Hop { index, scorer };
    let named_by_question: Vec<Name<'_>> = names.iter().filter_map(|key| index.links.named(key)).collect();
    if let [leading] = first(scores, 1)[..] {
        let moved =
            named_by_question.iter().filter_map(|name| hop.pull(name, QUESTION_PULL, leading, scores));
        raise(scores, moved.collect());
    }
    let mut moved = Vec::new();
    for leading in first(scores, LEADING) {
        let names = index.links.named_by(leading.passage);
        moved.extend(names.filter_map(|name| hop.pull(&name, PASSAGE_PULL, leading, scores)));
    }
    raise(scores, moved);
}

fn raise(scores: &mut Scores, moved: Vec<Scored>) {
    for moved in moved {
        let score = scores.entry(moved.passage).or_insert(moved.score);
        *score = score.max(moved.score);
    }
}

struct Hop<'a> {
    index: &'a Index,
    scorer: &'a Scorer<'a>,
}

impl Hop<'_> {
    /// Returns the best passage about a name with its raised score: the rarer the name, the nearer to `leading`.
    fn pull(&self, name: &Name<'_>, pull: f32, leading: Scored, scores: &Scores) -> Option<Scored> {
        let own = self.best_about(name, scores)?;
        let share = pull * self.rarity(name);
        Some(Scored { score: own.score + share * (leading.score - own.score).max(0.0), ..own })
    }

    fn best_about(&self, name: &Name<'_>, scores: &Scores) -> Option<Scored> {
        let is_few = name.about().count() <= FEW;
        let scored = |passage: u32| {
            let found = scores.get(&passage).copied();
            let score = found.or_else(|| is_few.then(|| self.scorer.score(passage)))?;
            Some(Scored { passage, score })
        };
        let accepted = name.about().filter(|passage| self.scorer.accepts(*passage));
        accepted.filter_map(scored).min()
    }

    /// Returns 1 for a name in one other passage, 0 for a name in all.
    fn rarity(&self, name: &Name<'_>) -> f32 {
        let others = name.named_in.saturating_sub(1).max(1) as f32;
        let all = self.index.len().max(2) as f32;
        (1.0 - others.ln() / all.ln()).max(0.0)
    }
}
