//! From text to the numbers that models read, and back. Each model family has its own way.

mod wordpiece;

pub use wordpiece::WordPiece;
