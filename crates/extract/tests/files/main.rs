//! Whole files of every kind: what is read from them, and what becomes of hostile ones.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod formats;
mod hostile;
mod samples;
