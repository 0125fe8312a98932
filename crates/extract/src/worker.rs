//! x
pub fn work() {}
