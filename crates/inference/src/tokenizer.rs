//! Converts text to tokens and back. Each model family has its own method.

mod bpe;
mod hash;
mod merge;
mod sentencepiece;
mod special;
mod split;
mod text;
mod utf8_pieces;
mod vocabulary;
mod wordpiece;

pub use text::TextTokenizer;
pub use utf8_pieces::Utf8Pieces;
pub use wordpiece::WordPiece;
