//! The npm package `oidc-provider` as a server.

use crate::clients::{packages, script};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

pub const CLIENT_ID: &str = "stoa";
pub const CLIENT_SECRET: &str = "a secret of the client, with = & : % signs";

/// Knows `ada` (example.org, in the group `admins`), `bob` (example.com) and `eve`, whose address is not verified.
pub struct OidcProvider {
    /// Killed when this is dropped.
    _child: Child,
    /// Kept open, because the server prints more than its port.
    _output: Lines<BufReader<ChildStdout>>,
    pub url: String,
}

impl OidcProvider {
    pub async fn start() -> Self {
        let mut node = Command::new("node");
        node.arg(script("oidc_provider.cjs")).env("NODE_PATH", packages().join("node_modules"));
        node.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = node.spawn().expect("node starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let port = lines.next_line().await.expect("output").expect("a line with the port");
        Self { _child: child, _output: lines, url: format!("http://127.0.0.1:{port}") }
    }
}
