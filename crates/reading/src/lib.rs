//! From what the reader says about passages to an answer in their own words.
//!
//! The model decides: where a passage answers, how sure that is, and what else belongs to the answer (`choose`). What is left
//! to rules is only how a place is shown: with the whole sentence, row, list or command that it is in (`extent`), as
//! Markdown (`show`). `request` says what a text asks for at all.

mod choose;
mod extent;
mod request;
mod show;

pub use extent::{Form, first_sentence};
pub use request::Request;

use choose::Found;
use extent::{Extent, extent};
use inference::reader::Reading;
use std::ops::Range;

/// A passage of a document.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// Its title and headings, which are read with it and never quoted.
    pub above: &'a str,
    pub text: &'a str,
    /// Its place in the order of the search, from 0.
    pub place: usize,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The index of its passage.
    pub passage: usize,
    /// As Markdown.
    pub text: String,
    pub form: Form,
}

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// The most parts.
    pub most: usize,
    /// How much less sure than of the best part it may be of another one that answers.
    pub margin: f32,
}

impl Passage<'_> {
    /// Returns the text that the reader is given.
    pub fn whole(&self) -> String {
        format!("{}\n{}", self.above, self.text)
    }

    fn text_start(&self) -> usize {
        self.above.len() + 1
    }
}

/// Returns the parts that answer a question, the best first, from the readings of [`Passage::whole`]; none if the passages
/// do not answer.
pub fn answer(
    question: &str,
    passages: &[Passage<'_>],
    readings: &[Reading],
    shown: Shown,
) -> Option<Vec<Part>> {
    let found = choose::found(passages, readings);
    found.first().filter(|best| best.score >= choose::LEAST)?;
    Some(parts(question, passages, &found, shown))
}

/// Returns the best part, whether or not it answers, and others that do.
pub fn nearest(question: &str, passages: &[Passage<'_>], readings: &[Reading], shown: Shown) -> Vec<Part> {
    parts(question, passages, &choose::found(passages, readings), shown)
}

fn parts(question: &str, passages: &[Passage<'_>], found: &[Found], shown: Shown) -> Vec<Part> {
    let best = found.first().map_or(f32::MIN, |best| best.score);
    let least = (best - shown.margin).max(choose::LEAST).min(best);
    let mut chosen: Vec<(usize, Extent, Vec<Range<usize>>)> = Vec::new();
    for one in found.iter().take_while(|one| one.score >= least) {
        let text = passages[one.passage].text;
        let own = extent(text, &one.range);
        let touches =
            |(passage, other, _): &(usize, Extent, _)| *passage == one.passage && other.touches(&own);
        match chosen.iter().position(touches) {
            Some(at) => {
                let (_, other, emphasised) = &mut chosen[at];
                other.join(text, &own);
                emphasised.push(one.range.clone());
            }
            None if chosen.len() < shown.most && (chosen.is_empty() || !own.is_title(text)) => {
                chosen.push((one.passage, own, vec![one.range.clone()]));
            }
            _ => {}
        }
    }
    let part = |(passage, extent, places): (usize, Extent, Vec<Range<usize>>)| Part {
        passage,
        text: show::markdown(question, passages[passage].text, &extent, &places),
        form: extent.form,
    };
    chosen.into_iter().map(part).collect()
}
