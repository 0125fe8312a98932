//! The portal through its front door.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod auth;
mod entries;
mod files;
mod metrics;
mod page;
mod projects;
mod search;
mod sso;
mod sso_faults;
mod sso_rules;
mod sso_token;
mod status;
