//! Faults under mixed load, seen from the front doors: what was acknowledged is there afterwards.
//!
//! `make test` runs them in short forms, `make faults` in long ones: `STOA_KILLS` says how many kills.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]
#![allow(clippy::print_stdout, reason = "it says how much it has tried")]

mod kills;
mod load;
