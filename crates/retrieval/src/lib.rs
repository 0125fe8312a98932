//! Passages of one owner, held in memory or in a mapped file and searched exactly: by meaning, by words, and by the names in them.
//!
//! An [`Index`] is a cache of one owner's part of the database, so passages of other owners cannot affect its ranking. It
//! knows neither the database nor the models: vectors and mentions come with the passages.
//!
//! `index` holds the passages in three parts: `dense` (vectors), `lexical` (words) and `links` (names). `search` combines
//! their answers: `scorer` scores passages by vectors and words (`word_scores`), `support` by their neighbours, and `hop` follows names.
//! `languages` finds the language of a document, by which its words are stemmed. `top_k` selects the highest scores, `keys`
//! numbers strings, `strings` has those of a file, `postings` are the passages of a term, `numbering` closes the gaps that
//! removed passages leave.

mod dense;
mod hop;
mod index;
mod keys;
mod languages;
mod lexical;
mod links;
mod numbering;
mod passage;
mod postings;
mod query;
mod scorer;
mod search;
mod strings;
mod support;
mod top_k;
mod word_scores;

pub use index::{FileError, Index};
pub use passage::{Mention, Passage};
pub use query::{Mode, Query};
pub use search::Hit;
