//! Third-party clients, from PyPI and npm.

use std::path::{Path, PathBuf};
use tokio::process::Command;

/// Runs one of `crates/e2e/clients`, which must succeed, and returns its output.
pub async fn run_client(script: &str, arguments: &[&str]) -> String {
    let (packages, script) = (packages(), self::script(script));
    let program =
        if script.extension().is_some_and(|extension| extension == "py") { "python3" } else { "node" };
    let mut client = Command::new(program);
    client.arg(script).args(arguments).env("NODE_PATH", packages.join("node_modules"));
    client.env("PYTHONPATH", packages).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = client.output().await.expect("its interpreter starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}: {printed}\n{complaint}", output.status);
    printed
}

pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name)
}

/// Returns the folder of the clients, `target/clients`, from the path of the test, `target/debug/deps/x`.
pub fn packages() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let packages = test.ancestors().nth(3).expect("tests are in target/PROFILE/deps").join("clients");
    assert!(
        packages.join("installed").exists(),
        "{} is missing: run `scripts/fetch-clients`",
        packages.display()
    );
    packages
}
