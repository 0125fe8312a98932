//! Each connector against the real thing on this machine: folders, and servers that the tests start.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops where it fails"
)]

mod crawl;
mod dovecot;
mod folder;
mod git;
mod git_server;
mod imap;
mod nginx;
mod s3;
/// The server of the end-to-end tests. The rest of that crate is not needed here, and takes minutes to build.
#[path = "../../../e2e/src/s3.rs"]
mod s3_server;
mod site;
mod support;
mod web;
