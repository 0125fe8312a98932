//! x
pub struct Extractor;
