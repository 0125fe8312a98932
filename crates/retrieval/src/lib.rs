//! One owner's passages, held in memory and searched exactly: by meaning, by words, and over what they name.
//!
//! An [`Index`] is a cache of what the database holds for one owner, so nothing in it ever ranks beside somebody
//! else's. It knows neither the database nor the models: vectors and mentions come with the passages.
//!
//! `index` keeps the passages and hands each part its share: `dense` the vectors, `lexical` the words, `links` the names. `search` puts their answers together: `judge` scores passages by vectors and words,
//! `support` looks at their neighbours, and `hop` follows names. `best` picks the highest of many, `numbering` closes the gaps
//! that removed passages leave.

mod best;
mod dense;
mod hop;
mod index;
mod judge;
mod lexical;
mod links;
mod numbering;
mod search;
mod support;

pub use index::{Index, Mention, Passage};
pub use search::{Hit, Mode, Query};
