//! Each connector against the real thing on this machine: folders, and servers that the tests start.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops where it fails"
)]

mod crawl;
mod folder;
mod nginx;
mod site;
mod support;
mod web;
