//! How far an answer reaches: the best part alone, or together with what stands beside it in its section.

use super::allowance::Allowance;
use super::evidence;
use super::question::Asked;
use super::sentence::Sentence;
use super::source::{ShownSource, Source};
use super::units::{Form, Unit, is_drawing, is_title, units};
use super::wanted::instructs;
use super::{Ask, ChatFailure, Chats};
use crate::records::Scope;

/// In bytes.
const LONGEST: usize = 900;
/// How many parts after the best one are looked at, and how many answers end there.
const LOOKED_AT: usize = 6;
const MOST_AFTER: usize = 2;

/// How much better an answer of several parts must be than the best part alone, and how much a longer one may be without
/// being taken.
const GAINS: f32 = 1.5;
const ALIKE: f32 = 0.7;
/// How much worse a list may be than one of its entries if all are asked for.
const LISTED: f32 = 1.0;

/// How a sentence begins that is one of several: none of them ends an answer but the last.
#[rustfmt::skip]
const ENUMERATES: &[&str] = &[
    "First", "The first ", "One ", "Second", "The second ", "Another ", "The other ", "Third", "The third ", "Finally",
    "The last ",
];
const ANNOUNCES: &[&str] = &["There are ", "the following ", "as follows"];

impl Chats {
    /// Shows the best part together with what stands beside it, if that is a better answer.
    pub(super) async fn extend(
        &self,
        scope: &Scope,
        ask: &Ask,
        asked: &Asked,
        sources: &mut Vec<Source>,
        chosen: &mut Vec<Sentence>,
        allowance: &mut Allowance,
    ) -> Result<(), ChatFailure> {
        let Some(best) = chosen.first().filter(|_| asked.is_english).cloned() else { return Ok(()) };
        let known = sources.len();
        let section = self.section(scope, sources, best.source).await?;
        let mut extents = extents(asked, sources, &section, &best);
        let texts = extents.iter().map(|extent| in_context(sources, extent)).collect();
        let scored = self.score_parts(ask, &asked.text, texts, allowance, usize::MAX).await?;
        let Some(scores) = scored else { return Ok(()) };
        extents.truncate(scores.len());
        let most = scores.iter().copied().fold(f32::MIN, f32::max);
        let near = (0..extents.len()).filter(|at| scores[*at] > most - ALIKE);
        // The shortest that shows all steps or things, if they are asked for; else the shortest that has what is.
        let lists_all = |at: &usize| (asked.wants_steps || asked.wants_all) && has_list(&extents[*at]);
        let rank = |at: &usize| (!lists_all(at), !has_wanted(asked, sources, &best, &extents[*at]));
        if let Some(at) = near.min_by_key(rank) {
            // A problem is answered by what is done about it, and a question for all by the list of them.
            let tells_how = !asked.wants_steps || instructs(best.text(sources));
            let least = match asked.wants_all && has_list(&extents[at]) {
                // The rest of the same list.
                _ if best.unit.form == Form::List => f32::NEG_INFINITY,
                true => -LISTED,
                false if tells_how => GAINS,
                false => 0.0,
            };
            if most > best.relevance + least {
                *chosen = extents.swap_remove(at);
            }
        }
        if chosen.iter().all(|part| part.source < known) {
            sources.truncate(known);
        }
        Ok(())
    }

    /// Returns a source and those right before and after it in its section, which are added to the sources.
    async fn section(
        &self,
        scope: &Scope,
        sources: &mut Vec<Source>,
        own: usize,
    ) -> Result<Vec<usize>, ChatFailure> {
        let mut section = vec![own];
        let ShownSource::Found(found) = sources[own].shown.clone() else { return Ok(section) };
        for beside in self.search.beside(scope, &found).await? {
            let is_before = beside.metadata.chunk_index < found.metadata.chunk_index;
            let beside = Source::found(beside);
            if beside.headings != sources[own].headings {
                continue;
            }
            let at = sources.iter().position(|known| known.is_same(&beside)).unwrap_or(sources.len());
            if at == sources.len() {
                sources.push(beside);
            }
            section.insert(if is_before { 0 } else { section.len() }, at);
        }
        Ok(section)
    }
}

/// Returns what may be shown instead of a part alone: the list that it is in, or it with the parts before or after it.
fn extents(asked: &Asked, sources: &[Source], section: &[usize], best: &Sentence) -> Vec<Vec<Sentence>> {
    let parts: Vec<Sentence> = section.iter().flat_map(|source| whole_parts(sources, *source)).collect();
    let is_own = |part: &Sentence| part.source == best.source;
    let own_list = parts
        .iter()
        .position(|part| is_own(part) && part.unit.form == Form::List && part.unit.contains(&best.unit));
    let mut extents: Vec<Vec<Sentence>> = Vec::new();
    if let Some(at) = own_list {
        let start = at - usize::from(at > 0 && goes_on(&parts[at - 1], &parts[at]));
        let end = at + 1 + usize::from(parts.get(at + 1).is_some_and(|next| goes_on(&parts[at], next)));
        let is_shown = best.unit.form == Form::List && end - start == 1;
        let is_asked = (asked.wants_all || asked.wants_steps) && !is_shown;
        extents.extend(is_asked.then(|| parts[start..end].to_vec()));
    } else if is_prose(sources, best) {
        let at = parts.iter().position(|part| is_own(part) && part.unit.range == best.unit.range);
        let belongs = |part: &&Sentence| belongs(sources, part, best);
        let after = at.map_or(&[][..], |at| &parts[at + 1..]);
        let after: Vec<&Sentence> = after.iter().take(LOOKED_AT).take_while(belongs).collect();
        // A list is shown with the part that introduces it.
        let introduces =
            after.first().is_some_and(|next| is_own(next) && next.unit.leads.contains(&best.unit.range));
        let own = Some(best).filter(|_| !introduces);
        let ends = (1..=after.len()).filter(|count| is_end(sources, &after, *count)).take(MOST_AFTER);
        extents.extend(
            ends.map(|end| own.into_iter().chain(after[..end].iter().copied()).cloned().collect::<Vec<_>>()),
        );
        let before = at.and_then(|at| parts[..at].last()).filter(belongs);
        extents.extend(before.map(|before| vec![before.clone(), best.clone()]));
    }
    extents.retain(|extent| extent.iter().map(|part| part.unit.range.len()).sum::<usize>() <= LONGEST);
    extents
}

/// Returns the parts of a source, its lists whole.
fn whole_parts(sources: &[Source], source: usize) -> Vec<Sentence> {
    let all = units(&sources[source].text);
    let lists: Vec<Unit> = all.iter().filter(|unit| unit.form == Form::List).cloned().collect();
    let is_whole = |unit: &Unit| unit.form == Form::List || !lists.iter().any(|list| list.contains(unit));
    all.into_iter().filter(is_whole).map(|unit| Sentence::new(source, unit)).collect()
}

/// Returns whether a list goes on in the next passage.
fn goes_on(list: &Sentence, next: &Sentence) -> bool {
    let are_lists = list.unit.form == Form::List && next.unit.form == Form::List;
    are_lists && list.source != next.source && next.unit.leads.is_empty()
}

/// Returns whether an answer may end after this many parts: no sentence announces, and no list has, more than it shows.
fn is_end(sources: &[Source], after: &[&Sentence], count: usize) -> bool {
    let text = |part: &Sentence| part.text(sources);
    let last = after[count - 1];
    let enumerates = |part: &&Sentence| ENUMERATES.iter().any(|start| text(part).starts_with(start));
    let announces = text(last).ends_with(':') || ANNOUNCES.iter().any(|sign| text(last).contains(sign));
    let is_cut = after.get(count).is_some_and(|next| goes_on(last, next));
    let (shown, rest) = after.split_at(count);
    let is_among = shown.iter().any(enumerates) && rest.iter().any(enumerates);
    let goes_on = announces && last.unit.form == Form::Sentence && !rest.is_empty();
    !(is_cut || is_among || goes_on)
}

fn has_list(extent: &[Sentence]) -> bool {
    extent.iter().any(|part| part.unit.form == Form::List)
}

/// Returns an extent as it is judged.
fn in_context(sources: &[Source], extent: &[Sentence]) -> String {
    let first = evidence::in_context(sources, &extent[..1]);
    let more = extent[1..].iter().map(|part| part.text(sources).to_owned());
    first.into_iter().chain(more).collect::<Vec<String>>().join(" ")
}

/// Returns whether an extent has what is asked for: how something is done has to stand beside what is done.
fn has_wanted(asked: &Asked, sources: &[Source], best: &Sentence, extent: &[Sentence]) -> bool {
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
        Form::Sentence => part.source == best.source && !is_title(own),
        Form::Code | Form::List => true,
        Form::Titled | Form::Entry => {
            part.source == best.source && is_prose(sources, part) && part.unit.leads == best.unit.leads
        }
        Form::Record => false,
    };
    fits && !part.is_question(sources) && !is_drawing(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what may be shown instead of the part of this number in the first text, after which the others come.
    fn tried_across(question: &str, texts: &[&str], best: usize) -> Vec<String> {
        let sources = Source::of_texts(texts.iter().copied());
        let section: Vec<usize> = (0..texts.len()).collect();
        let best = Sentence::new(0, units(texts[0]).remove(best));
        let shown = |extent: &Vec<Sentence>| {
            extent.iter().map(|part| part.plain(&sources)).collect::<Vec<String>>().join(" / ")
        };
        extents(&Asked::new(question), &sources, &section, &best).iter().map(shown).collect()
    }

    fn tried(question: &str, text: &str, best: usize) -> Vec<String> {
        tried_across(question, &[text], best)
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

    #[test]
    fn an_answer_ends_after_the_last_of_what_it_announces() {
        let text = "Posts differ. There are two ways. The first way is a bird. The second way is a ship. A bird sings.";
        assert_eq!(
            tried("How is it sent?", text, 0),
            [
                "Posts differ. / There are two ways. / The first way is a bird. / The second way is a ship.",
                "Posts differ. / There are two ways. / The first way is a bird. / The second way is a ship. / A bird sings.",
            ]
        );
    }

    #[test]
    fn a_list_goes_on_in_the_next_passage() {
        let texts = ["You can set it:\n- Open it.\n- Choose it.", "- Apply it.\n- Close it.\n\nIt is done."];
        let entry = units(texts[0]).iter().position(|unit| unit.form == Form::Entry).unwrap();
        let whole = "You can set it:\n- Open it.\n- Choose it. / - Apply it.\n- Close it.";
        assert_eq!(tried_across("How do I set it?", &texts, entry), [whole]);
        assert_eq!(tried_across("How do I set it?", &texts, 0), [whole]);
        assert!(tried_across("How do I set it?", &texts[..1], 0).is_empty());
        let other = ["You can set it:\n- Open it.\n- Choose it.", "Others:\n- Apply it.\n- Close it."];
        assert_eq!(tried_across("How do I set it?", &other, entry), [other[0]]);
    }
}
