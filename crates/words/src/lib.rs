//! Splits text into tokens, stems and sentences, and compares words and sentences. Pure: no I/O, no models.
//!
//! Search, chat and the supervisor's worksheets share these rules, so that a word matches the same words everywhere.

mod edit_distance;
mod evidence;
mod language;
mod sentences;
mod split;
mod stems;
mod stop_words;
mod tokens;

pub use edit_distance::{edit_distance, is_within_one_edit};
pub use evidence::Evidence;
pub use language::Language;
pub use sentences::sentences;
pub use stems::{Term, for_each_ideograph, for_each_stem, ideographs, stem_set, stems, terms};
pub use stop_words::is_stop_word;
pub use tokens::tokens;
