//! Whole files of every kind: what is read from them, and how hostile ones are handled.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod formats;
mod hostile;
mod open_document;
mod pdf_tables;
mod samples;
