//! Faults under mixed load, seen from the front doors: what was acknowledged is there afterwards.
//!
//! `make test` runs them in short forms, `make faults` in long ones: `STOA_KILLS` says how many kills, and everything else
//! grows with it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]
#![allow(clippy::print_stdout, reason = "it says how much it has tried")]

mod bad_files;
mod kills;
mod load;
mod tenancy;

/// Returns how many kills are wanted; other tests try as much more.
#[expect(clippy::disallowed_methods, reason = "a test has no configuration to ask")]
fn kills() -> usize {
    std::env::var("STOA_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20)
}
