//! How far an answer reaches: the best part alone, or together with what stands beside it.

use super::evidence;
use super::question::Asked;
use super::sentence::Sentence;
use super::source::Source;
use super::units::{Form, Unit, is_drawing, is_title, units};
use super::wanted::instructs;

/// In bytes.
const LONGEST: usize = 900;
/// How many parts after the best one are tried.
const MOST_AFTER: usize = 2;

/// Returns what may be shown instead of a part alone: the list that it is in, or it with the parts before or after it.
pub fn extents(asked: &Asked, sources: &[Source], best: &Sentence) -> Vec<Vec<Sentence>> {
    let all = units(&sources[best.source].text);
    let lists: Vec<Unit> = all.iter().filter(|unit| unit.form == Form::List).cloned().collect();
    let part = |unit: &Unit| Sentence::new(best.source, unit.clone());
    let mut extents: Vec<Vec<Sentence>> = Vec::new();
    if let Some(list) = lists.iter().find(|list| list.contains(&best.unit)) {
        let is_asked = (asked.wants_all || asked.wants_steps) && best.unit.form != Form::List;
        extents.extend(is_asked.then(|| vec![part(list)]));
    } else if is_prose(sources, best) {
        // Lists beside it are shown whole.
        let is_whole =
            |unit: &&Unit| unit.form == Form::List || !lists.iter().any(|list| list.contains(unit));
        let parts: Vec<Sentence> = all.iter().filter(is_whole).map(part).collect();
        let at = parts.iter().position(|part| part.unit.range == best.unit.range);
        let belongs = |part: &&Sentence| belongs(sources, part, best);
        let after = at.map_or(&[][..], |at| &parts[at + 1..]);
        let after: Vec<&Sentence> = after.iter().take(MOST_AFTER).take_while(belongs).collect();
        for count in 1..=after.len() {
            // A list is shown with the part that introduces it.
            let introduces = after[0].unit.leads.contains(&best.unit.range);
            let own = Some(best).filter(|_| !introduces);
            extents.push(own.into_iter().chain(after[..count].iter().copied()).cloned().collect());
        }
        let before = at.and_then(|at| parts[..at].last()).filter(belongs);
        extents.extend(before.map(|before| vec![before.clone(), best.clone()]));
    }
    extents.retain(|extent| extent.iter().map(|part| part.unit.range.len()).sum::<usize>() <= LONGEST);
    extents
}

/// Returns an extent as it is judged.
pub fn in_context(sources: &[Source], extent: &[Sentence]) -> String {
    let first = evidence::in_context(sources, &extent[..1]);
    let more = extent[1..].iter().map(|part| part.text(sources).to_owned());
    first.into_iter().chain(more).collect::<Vec<String>>().join(" ")
}

/// Returns whether an extent has what is asked for: how something is done has to stand beside what is done.
pub fn has_wanted(asked: &Asked, sources: &[Source], best: &Sentence, extent: &[Sentence]) -> bool {
    let tells_how = |part: &Sentence| {
        let is_beside = part.unit.range != best.unit.range;
        let is_shown = matches!(part.unit.form, Form::List | Form::Code);
        is_beside && (is_shown || instructs(part.text(sources)))
    };
    let texts: Vec<String> = extent.iter().map(|part| part.plain(sources)).collect();
    asked.finds_wanted(&texts.join(" ")) && (!asked.wants_steps || extent.iter().any(tells_how))
}

/// Returns whether something may belong to a part. The rows of a table stand alone.
fn is_prose(sources: &[Source], part: &Sentence) -> bool {
    match part.unit.form {
        Form::Sentence | Form::Titled | Form::Code => true,
        Form::Entry => part.text(sources).ends_with('.'),
        Form::List | Form::Record => false,
    }
}

/// Returns whether a part beside the best one may belong to it: it is no title, no question, and below no other title.
fn belongs(sources: &[Source], part: &Sentence, best: &Sentence) -> bool {
    let own = part.text(sources);
    let fits = match part.unit.form {
        Form::Sentence => !is_title(own),
        Form::Code | Form::List => true,
        Form::Titled | Form::Entry => is_prose(sources, part) && part.unit.leads == best.unit.leads,
        Form::Record => false,
    };
    fits && !part.is_question(sources) && !is_drawing(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what may be shown instead of the part of this number.
    fn tried(question: &str, text: &str, best: usize) -> Vec<String> {
        let sources = Source::of_texts([text]);
        let best = Sentence::new(0, units(text).remove(best));
        let shown = |extent: &Vec<Sentence>| {
            extent.iter().map(|part| part.plain(&sources)).collect::<Vec<String>>().join(" / ")
        };
        extents(&Asked::new(question), &sources, &best).iter().map(shown).collect()
    }

    #[test]
    fn a_sentence_is_tried_with_those_beside_it() {
        let text = "A bird sings. The crew beams down. A ship is given. It sinks.\n\nIs it old?\n\nYes.";
        assert_eq!(
            tried("Which ship?", text, 1),
            ["The crew beams down. / A ship is given. It sinks.", "A bird sings. / The crew beams down."]
        );
    }

    #[test]
    fn a_list_is_tried_whole() {
        let text = "The screen is too large. You can set it:\n- Open it.\n- Apply it.\n\nname: a; size: 2\nname: b; size: 3";
        let list = "You can set it:\n- Open it.\n- Apply it.";
        assert_eq!(tried("How do I set it?", text, 0), [format!("The screen is too large. / {list}")]);
        let entry = units(text).iter().position(|unit| unit.form == Form::Entry).unwrap();
        assert_eq!(tried("How do I set it?", text, entry), [list]);
        assert!(tried("Is it set?", text, entry).is_empty());
        assert!(tried("How do I set it?", text, units(text).len() - 1).is_empty());
    }
}
