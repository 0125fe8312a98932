//! The knowledge service through its front door.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod accounts;
mod administrators;
mod answers;
mod backends;
mod chat;
mod crashes;
mod events;
mod fairness;
mod formats;
mod graph;
mod ingest;
mod large;
mod lifecycle;
mod mcp;
mod models;
mod openai;
mod removal;
mod search;
mod sessions;
mod tenancy;
mod walk;
