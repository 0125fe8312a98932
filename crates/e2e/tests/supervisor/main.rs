//! Tests of the supervisor over HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops where it fails")]

mod approval;
mod archive;
mod auth;
mod backends;
mod control;
mod crashes;
mod edge;
mod edits;
mod execute;
mod faults;
mod guests;
mod lists;
mod live_text;
mod models;
mod owners;
mod projects;
mod readers;
mod workflow;
