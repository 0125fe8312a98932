//! The knowledge service through its front door.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod accounts;
mod administrators;
mod answers;
mod backends;
mod chat;
mod content;
mod conversations;
mod crashes;
mod duplicates;
mod embeddings;
mod events;
mod fairness;
mod formats;
mod gateway_tokens;
mod graph;
mod graph_nodes;
mod hanging_store;
mod indexing;
mod ingest;
mod large;
mod lifecycle;
mod listing;
mod mcp;
mod models;
mod openai;
mod reader;
mod removal;
mod scope;
mod search;
mod sessions;
mod snapshots;
mod tenancy;
mod unknown_fields;
mod users;
mod walk;
