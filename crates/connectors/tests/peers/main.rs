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
mod git;
mod imap;
mod nginx;
mod s3;
mod site;
mod support;
mod web;

// Servers of the end-to-end tests. The rest of that crate is not needed here, and takes minutes to build.
#[path = "../../../e2e/src/dovecot.rs"]
mod dovecot;
#[path = "../../../e2e/src/git_server.rs"]
mod git_server;
#[path = "../../../e2e/src/nginx.rs"]
mod nginx_server;
#[path = "../../../e2e/src/s3.rs"]
#[allow(dead_code, reason = "other tests make it fail")]
mod s3_server;
