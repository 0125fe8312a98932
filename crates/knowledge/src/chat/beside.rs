//! The sentences beside the best one, where it cannot be understood without them or lacks what is asked for.

use super::question::Asked;
use super::sentence::Sentence;
use super::source::Source;
use super::units::{Form, units};

/// How a sentence begins that refers to the one before it. (One with a pronoun is a part together with that.)
#[rustfmt::skip]
const REFERS_BACK: &[&str] = &[
    "In this case", "In that case", "Then ", "Otherwise", "Therefore", "Thus ", "However", "But ", "Such ", "Instead", "So ",
    "Due to this", "Because of this", "For this reason", "As a result", "Hence", "Consequently",
];

/// Adds the sentence before the best one if that refers to it, and the one after it if only that has what is asked for. They
/// take the place of what else supports the answer. If steps are asked for, they are shown with what introduces them.
pub fn complete(asked: &Asked, sources: &[Source], chosen: &mut Vec<Sentence>) {
    let Some(best) = chosen.first().cloned() else { return };
    let parts: Vec<Sentence> =
        units(&sources[best.source].text).into_iter().map(|unit| Sentence::new(best.source, unit)).collect();
    if asked.wants_steps || asked.wants_all {
        with_their_lists(&parts, chosen);
    }
    let has_wanted = |sentence: &Sentence| asked.finds_wanted(&sentence.plain(sources));
    let next = parts.iter().find(|part| part.follows(&best) && has_wanted(part));
    if let (Some(next), false) = (next, has_wanted(&best)) {
        *chosen = vec![best.clone(), next.clone()];
    }
    let before = parts.iter().find(|part| best.follows(part) && !part.is_question(sources));
    if let (Some(before), true) = (before, refers_back(best.text(sources))) {
        let next = chosen.iter().find(|part| part.follows(&best)).cloned();
        *chosen = [before.clone(), best].into_iter().chain(next).collect();
    }
}

/// Puts a list in the place of the sentence that introduces it, or of two of its entries.
fn with_their_lists(parts: &[Sentence], chosen: &mut Vec<Sentence>) {
    for list in parts.iter().filter(|part| part.unit.form == Form::List) {
        let introduces = |part: &Sentence| list.unit.leads.last() == Some(&part.unit.range);
        let is_of = |part: &&Sentence| part.source == list.source && list.unit.shows(&part.unit);
        let Some(first) = chosen.iter().position(|part| is_of(&part)) else { continue };
        if introduces(&chosen[first]) || chosen.iter().filter(is_of).count() > 1 {
            let rest: Vec<Sentence> = chosen.drain(first..).filter(|part| !is_of(&part)).collect();
            chosen.push(list.clone());
            chosen.extend(rest);
        }
    }
}

fn refers_back(sentence: &str) -> bool {
    REFERS_BACK.iter().any(|start| sentence.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the answer of which the sentence of this number is the best.
    fn completed(question: &str, text: &str, best: usize) -> Vec<String> {
        let sources = Source::of_texts([text, "The pump is blue."]);
        let part = |source: usize, at| Sentence::new(source, units(&sources[source].text).remove(at));
        let mut chosen = vec![part(0, best), part(1, 0)];
        complete(&Asked::new(question), &sources, &mut chosen);
        chosen.iter().map(|part| part.plain(&sources)).collect()
    }

    #[test]
    fn the_sentence_with_what_is_asked_for_is_added() {
        let text = "The option sets the port of the server. The default is 4460. Few change that.";
        let default = ["The option sets the port of the server.", "The default is 4460."];
        assert_eq!(completed("Which port does the server have?", text, 0), default);
        let elsewhere = ["The option sets the port of the server.", "The pump is blue."];
        assert_eq!(completed("What does the option set?", text, 0), elsewhere);
    }

    #[test]
    fn steps_are_shown_with_what_introduces_them() {
        let text = "Noise can be removed. First make a profile of it.\n\n1. Zoom out.\n\n2. Play it.";
        let steps = ["First make a profile of it.\n1. Zoom out.\n2. Play it.", "The pump is blue."];
        assert_eq!(completed("How do I remove noise?", text, 1), steps);
        assert_eq!(completed("Who removes noise?", text, 1)[0], "First make a profile of it.");
    }

    #[test]
    fn two_entries_of_a_list_are_the_whole_list_if_all_are_asked_for() {
        let sources = Source::of_texts(["It has three parts:\n\n- a seal\n\n- a shaft\n\n- a case"]);
        let all: Vec<Sentence> =
            units(&sources[0].text).into_iter().map(|unit| Sentence::new(0, unit)).collect();
        let shown = |question: &str| {
            let mut chosen = vec![all[2].clone(), all[1].clone()];
            complete(&Asked::new(question), &sources, &mut chosen);
            chosen.iter().map(|part| part.plain(&sources)).collect::<Vec<String>>()
        };
        let list = ["It has three parts:\n- a seal\n- a shaft\n- a case"];
        assert_eq!(shown("Which three parts does it have?"), list);
        let entries = ["It has three parts: a shaft", "It has three parts: a seal"];
        assert_eq!(shown("Does it have a shaft?"), entries);
    }

    #[test]
    fn the_sentence_that_is_referred_to_comes_first() {
        let text = "Some file systems have no UUID. In this case, the backup is refused. Is it kept? Otherwise all is lost.";
        let whole = ["Some file systems have no UUID.", "In this case, the backup is refused."];
        assert_eq!(completed("Why is the backup refused?", text, 1), whole);
        assert_eq!(completed("Is it kept?", text, 3), ["Otherwise all is lost.", "The pump is blue."]);
    }
}
