//! Settings: where they come from, which wins, and how faults are told.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use e2e::{Stoa, Upstream};
use serde_json::{Value, json};

async fn login(stoa: &Stoa, username: &str, password: &str) -> (u16, Value) {
    let body = json!({ "username": username, "password": password });
    let response = reqwest::Client::new().post(stoa.url("/auth/login")).json(&body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[test]
fn every_wrong_setting_is_named_at_once_with_what_would_be_accepted() {
    let start = Stoa::start()
        .set("GATEWAY_LISTEN", "8080")
        .set("JWT_SECRET", "too short a secret")
        .set("JWT_TTL", "soon")
        .set("ENVIRONMENT", "test")
        .set("BUILD_SERVICE_URL", "ftp://somewhere")
        .set("DATABASE_URL", "mysql://user:hunter2@host/db")
        .set("VENDOR_A_BASE_URL", "https://user:hunter2@host/v1")
        .set("VENDOR_B_API_KEY", "hunter2 and more")
        .set("VENDOR_TIMEOUT", "0s")
        .set("CHAT_PROVIDER", "vendor-z")
        .set("MAX_CONNECTIONS", "0");
    let (code, _, stderr) = start.run(&["serve"]);
    assert_eq!(code, 2);
    for expected in [
        "11 settings are wrong",
        "GATEWAY_LISTEN: `8080` is not an address: expected `host:port`",
        "JWT_SECRET: 18 bytes are too short: expected at least 32",
        "JWT_TTL: `soon`",
        "ENVIRONMENT: `test` is not known: one of staging, production",
        "BUILD_SERVICE_URL: `ftp://somewhere` is not a target: expected `http://host[:port][/path]`",
        "DATABASE_URL: expected `sqlite://PATH` or `postgres://…`",
        "VENDOR_A_BASE_URL: is not an address: expected `https://HOST[:PORT][/PATH]`",
        "VENDOR_B_API_KEY: is not a key",
        "VENDOR_TIMEOUT: `0s`",
        "CHAT_PROVIDER: unknown provider `vendor-z`: one of edge-ai, vendor-a, vendor-b, vendor-c",
        "MAX_CONNECTIONS: `0`",
    ] {
        assert!(stderr.contains(expected), "{expected:?} is not in:\n{stderr}");
    }
    assert!(!stderr.contains("hunter2") && !stderr.contains("too short a secret"), "{stderr}");
}

#[test]
fn a_default_model_needs_a_provider_that_can_answer() {
    for (provider, model, fault) in [
        ("vendor-a", "", "CHAT_PROVIDER: `vendor-a` needs its secret: set VENDOR_A_API_KEY"),
        ("edge-ai", "gpt-x", "CHAT_MODEL: is for a vendor's model: `edge-ai` has the one of EDGE_AI_MODEL"),
    ] {
        let start = Stoa::start().set("CHAT_PROVIDER", provider).set("CHAT_MODEL", model);
        let (code, _, stderr) = start.run(&["serve"]);
        assert!(code == 2 && stderr.contains(fault), "{stderr}");
    }
}

#[tokio::test]
async fn a_flag_wins_over_the_environment_which_wins_over_the_file() {
    let upstream = Upstream::start().await;
    let issuer_of = async |stoa: &Stoa| {
        let (_, body) = login(stoa, "admin", "password").await;
        let token = body["token"].as_str().unwrap().to_owned();
        let claims: Value = jsonwebtoken::dangerous::insecure_decode_claims(&token).unwrap();
        claims["iss"].as_str().unwrap().to_owned()
    };
    let start = Stoa::start().set("CORE_SERVICE_URL", upstream.url());
    let file = start.path().join("stoa.toml");
    std::fs::write(&file, "jwt_issuer = \"file\"\nmax_connections = 100\naccess_log = false\n").unwrap();
    let stoa = start.serve();
    assert_eq!(issuer_of(&stoa).await, "file");
    let data = stoa.data.clone();
    drop(stoa);
    let stoa = Stoa::start().data(&data).set("JWT_ISSUER", "environment").serve();
    assert_eq!(issuer_of(&stoa).await, "environment");
    drop(stoa);
    let stoa =
        Stoa::start().data(&data).set("JWT_ISSUER", "environment").serve_with(&["--jwt-issuer", "flag"]);
    assert_eq!(issuer_of(&stoa).await, "flag");
}

#[test]
fn an_unknown_setting_in_the_file_is_a_fault() {
    let start = Stoa::start();
    std::fs::write(start.path().join("stoa.toml"), "gateway_lisen = \"127.0.0.1:0\"\n").unwrap();
    let (code, _, stderr) = start.run(&["serve"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("unknown setting `gateway_lisen` in stoa.toml: one of "), "{stderr}");
    let (code, _, stderr) = start.run(&["serve", "--config", "missing.toml"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("missing.toml: No such file"), "{stderr}");
}

#[test]
fn a_secret_is_no_flag_but_may_be_a_file() {
    let start = Stoa::start();
    let (code, _, stderr) = start.run(&["serve", "--jwt-secret", "0123456789abcdef0123456789abcdef"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("unexpected argument '--jwt-secret'"), "{stderr}");
    let (code, _, stderr) = start.run(&["serve", "--database-url", "postgres://stoa:hunter2@127.0.0.1/x"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("DATABASE_URL_FILE") && !stderr.contains("hunter2"), "{stderr}");

    let file = start.path().join("password");
    std::fs::write(&file, "from a file\n").unwrap();
    let both = Stoa::start().set("ADMIN_PASSWORD_FILE", file.display());
    let (code, _, stderr) = both.run(&["serve"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("ADMIN_PASSWORD and ADMIN_PASSWORD_FILE are both set"), "{stderr}");
    let missing = Stoa::start_bare().set("ADMIN_PASSWORD_FILE", "/no/such/file");
    let (code, _, stderr) = missing.run(&["serve"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("ADMIN_PASSWORD_FILE: cannot read `/no/such/file`"), "{stderr}");

    let in_environment = Stoa::start_bare().set("ADMIN_PASSWORD_FILE", file.display()).serve();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    assert_eq!(runtime.block_on(login(&in_environment, "admin", "from a file")).0, 200);
    let in_toml = Stoa::start_bare();
    std::fs::write(
        in_toml.path().join("stoa.toml"),
        format!("admin_password_file = \"{}\"\n", file.display()),
    )
    .unwrap();
    assert_eq!(runtime.block_on(login(&in_toml.serve(), "admin", "from a file")).0, 200);
}

#[test]
fn help_lists_settings_where_they_belong_with_their_defaults() {
    let start = Stoa::start();
    let help = start.run(&["serve", "--help"]).1;
    for told in [
        "[env: GATEWAY_LISTEN] [default: 127.0.0.1:8080]",
        "The name in the claim `iss` of gateway tokens",
        "The name in the claim `aud` of gateway tokens",
        "JWT_SECRET_FILE",
    ] {
        assert!(help.contains(told), "{told} in:\n{help}");
    }
    assert!(!help.contains("--jwt-secret") && !help.contains("--admin-password"), "{help}");
    for command in ["check", "models", "admin", "portal", "eval"] {
        let help = start.run(&[command, "--help"]).1;
        assert!(
            !help.contains("--gateway-listen") && help.contains("stoa serve --help"),
            "{command}: {help}"
        );
    }
    assert_eq!(start.run(&["check", "--log-level", "loud"]).0, 2, "they are taken all the same");
}

#[tokio::test]
async fn an_empty_target_is_none() {
    let stoa = Stoa::start().only("gateway,knowledge").set("CORE_SERVICE_URL", "").serve();
    let answer = reqwest::get(stoa.url("/core/api/health")).await.unwrap();
    assert_eq!(answer.status(), 502);
    let record: Value = answer.json().await.unwrap();
    assert_eq!(record["code"], "MISSING_TARGET");
}

#[test]
fn a_variable_that_is_almost_a_setting_is_named() {
    let start =
        Stoa::start().set("GATEWAY_LISTN", "127.0.0.1:0").set("STOA_COLOUR", "on").set("HOMEPAGE", "x");
    let (_, _, stderr) = start.run(&["check"]);
    assert!(
        stderr.contains("GATEWAY_LISTN in the environment is no setting: did you mean GATEWAY_LISTEN?"),
        "{stderr}"
    );
    assert!(stderr.contains("STOA_COLOUR in the environment is no setting"), "{stderr}");
    assert!(!stderr.contains("HOMEPAGE"), "{stderr}");
}
