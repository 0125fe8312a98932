//! How the program is started and stopped: what scripts and people depend on.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use e2e::knowledge_client::login_digest;
use e2e::postgres::Postgres;
use e2e::s3::S3;
use e2e::{Stoa, Upstream};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

async fn login(stoa: &Stoa, username: &str, password: &str) -> (u16, Value) {
    let body = json!({ "username": username, "password": password });
    let response = reqwest::Client::new().post(stoa.url("/auth/login")).json(&body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

fn printed_password(banner: &str) -> Option<&str> {
    banner.lines().find_map(|line| line.trim().strip_prefix("password").map(str::trim))
}

#[tokio::test]
async fn a_first_start_prints_a_password_that_works_and_never_again() {
    let start = Stoa::start_bare();
    let first = start.serve();
    let password = printed_password(&first.banner).expect("a password in the banner").to_owned();
    assert_eq!(login(&first, "admin", &password).await.0, 200);
    let data = first.data.clone();
    drop(first);
    let second = Stoa::start_bare().data(&data).serve();
    assert_eq!(printed_password(&second.banner), None, "{}", second.banner);
    assert_eq!(login(&second, "admin", &password).await.0, 200);
}

#[tokio::test]
async fn the_banner_and_listen_json_name_the_real_addresses() {
    let stoa = Stoa::start().serve();
    let file = std::fs::read_to_string(stoa.data.path().join("listen.json")).unwrap();
    let listed: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(listed, json!({ "gateway": stoa.gateway.to_string(), "ops": stoa.ops.to_string() }));
    assert!(stoa.banner.contains(&format!("http://{}", stoa.gateway)), "{}", stoa.banner);
    assert!(!stoa.banner.contains("/kv/"), "nothing is behind it: {}", stoa.banner);
    assert!(stoa.banner.contains(stoa.data.path().to_str().unwrap()), "{}", stoa.banner);
    assert_eq!(printed_password(&stoa.banner), None, "a given password is not printed");
}

#[tokio::test]
async fn the_banner_names_the_page_first() {
    let stoa = Stoa::start_portal().serve();
    let first = stoa.banner.lines().find(|line| line.contains("http")).unwrap();
    assert_eq!(first, format!("  page           {}", stoa.url("/kv/")), "{}", stoa.banner);
}

#[tokio::test]
async fn generated_secrets_are_private_and_outlive_a_kill() {
    let upstream = Upstream::start().await;
    let first = Stoa::start_bare().set("BUILD_SERVICE_URL", upstream.url()).serve();
    let path = first.data.path().join("secrets.toml");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let response = reqwest::Client::new().post(first.url("/auth/guest")).send().await.unwrap();
    let guest: Value = response.json().await.unwrap();
    let data = first.data.clone();
    drop(first);
    let second = Stoa::start_bare().set("BUILD_SERVICE_URL", upstream.url()).data(&data).serve();
    let request =
        reqwest::Client::new().get(second.url("/build/")).bearer_auth(guest["token"].as_str().unwrap());
    assert_eq!(request.send().await.unwrap().status(), 200);
    let record = data.path().join("objects/auth/admins/admin.json");
    assert_eq!(std::fs::metadata(record).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn without_a_setting_everything_is_kept_in_the_current_folder() {
    let start = Stoa::start_bare();
    let status = start.command(&["check"]).env_remove("STOA_DATA_DIR").status().unwrap();
    assert!(status.success());
    assert!(start.path().join("stoa-data/stoa.db").exists());
    assert!(start.path().join("stoa-data/objects").exists());
}

#[test]
fn a_taken_port_is_said_by_name() {
    let first = Stoa::start().serve();
    let (code, _, stderr) = Stoa::start().set("GATEWAY_LISTEN", first.gateway).run(&["serve"]);
    assert_eq!(code, 1);
    assert!(stderr.contains(&format!("gateway cannot listen on {}", first.gateway)), "{stderr}");
}

#[test]
fn sigint_and_sigterm_end_it_in_order() {
    for signal in ["INT", "TERM"] {
        let stoa = Stoa::start().serve();
        let data = stoa.data.clone();
        stoa.signal(signal);
        let (code, took) = stoa.wait();
        assert_eq!(code, Some(0));
        assert!(took.as_secs() < 3, "{took:?}");
        assert!(!data.path().join("listen.json").exists());
    }
}

#[test]
fn administrators_are_created_and_replaced_from_standard_input() {
    let start = Stoa::start();
    let create = |name: &str, password: &str| {
        let mut command = start.command(&["admin", "create", name]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(password.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    assert_eq!(create("ada", "the first one\n"), (0, "created administrator ada\n".into(), String::new()));
    assert_eq!(create("ada", "the second one\n").1, "replaced administrator ada\n");
    assert_eq!(create("../ada", "the second one").0, 1);
    assert!(create("ada", "\n").2.contains("empty"));
    assert!(create("ada", "eleven char\n").2.contains("at least 12"));
    let stoa = start.serve();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    assert_eq!(runtime.block_on(login(&stoa, "ada", "the first one")).0, 401);
    assert_eq!(runtime.block_on(login(&stoa, "ada", "the second one")).0, 200);
    assert_eq!(runtime.block_on(login(&stoa, "admin", "password")).0, 401, "she is the first administrator");
}

/// Through a terminal of its own, as a person would type it.
#[test]
fn a_password_at_a_terminal_is_asked_twice_and_not_shown() {
    let start = Stoa::start();
    let type_in = |typed: &'static str| {
        let program = e2e::program::binary();
        let line = format!("{} admin create ada", program.display());
        let mut command = start.command(&[]);
        let environment: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        command = std::process::Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("SHELL", "/bin/sh");
        command.envs(environment.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let typing = std::thread::spawn(move || {
            for line in typed.lines() {
                // What is typed before the question is thrown away, as it would be shown.
                std::thread::sleep(std::time::Duration::from_millis(1500));
                input.write_all(format!("{line}\n").as_bytes()).unwrap();
            }
            std::thread::sleep(std::time::Duration::from_millis(1500));
        });
        let output = child.wait_with_output().unwrap();
        typing.join().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, shown) = type_in("correct horse\ncorrect horse");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("Password") && shown.contains("created administrator ada"), "{shown}");
    assert!(!shown.contains("correct horse"), "{shown}");
    let (code, shown) = type_in("correct horse\nincorrect horse");
    assert!(code == 1 && shown.contains("not the same"), "{shown}");
}

#[tokio::test]
async fn the_first_request_can_be_a_sign_in() {
    for _ in 0..3 {
        // The programs of other tests take ports of 127.0.0.1, and could take this one in between.
        let free = std::net::TcpListener::bind("127.0.0.7:0").unwrap().local_addr().unwrap();
        let start = Stoa::start().set("KNOWLEDGE_LISTEN", free);
        let mut child = start.command(&["serve", "--only", "gateway,knowledge"]).spawn().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let body = json!({ "username": "admin", "password": login_digest("admin", "password") });
        let status = loop {
            let url = format!("http://{free}/api/auth/login");
            match reqwest::Client::new().post(url).json(&body).send().await {
                Ok(answer) => break answer.status(),
                Err(error) => assert!(std::time::Instant::now() < deadline, "{error}"),
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(status, 200);
    }
}

#[test]
fn a_second_process_on_one_folder_says_so_and_leaves_the_first_alone() {
    let first = Stoa::start().serve();
    let listen = first.data.path().join("listen.json");
    let written = std::fs::read_to_string(&listen).unwrap();
    let (code, stdout, stderr) = Stoa::start().data(&first.data).run(&["serve", "--only", "gateway"]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert!(stderr.contains(&format!("another stoa (process {}) serves from", first.pid())), "{stderr}");
    assert_eq!(std::fs::read_to_string(&listen).unwrap(), written);
    let data = first.data.clone();
    first.signal("KILL");
    first.wait();
    // Nothing that a dead process left keeps the next from starting.
    let next = Stoa::start().data(&data).serve();
    assert_eq!(next.data.path(), data.path());
}

#[test]
fn a_process_that_is_ready_has_printed_its_password_and_ends_in_order() {
    for _ in 0..3 {
        let ops = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let start = Stoa::start_bare().with_models().set("OPS_LISTEN", ops);
        let mut child = start.command(&["serve"]).spawn().unwrap();
        let ready = format!("http://{ops}/readyz");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
            while !reqwest::get(&ready).await.is_ok_and(|answer| answer.status() == 200) {
                assert!(std::time::Instant::now() < deadline, "it is never ready");
            }
        });
        let killed = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let mut banner = String::new();
        std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut banner).unwrap();
        assert!(printed_password(&banner).is_some(), "{banner}");
    }
}

#[test]
fn openapi_and_completions_are_printed() {
    let start = Stoa::start();
    let document: Value = serde_json::from_str(&start.run(&["openapi", "gateway"]).1).unwrap();
    for path in ["/auth/login", "/auth/guest", "/build/{rest}", "/kv/{rest}", "/core/{rest}"] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    assert!(start.run(&["completions", "bash"]).1.contains("complete -F"));
    let (code, _, stderr) = start.run(&["serve", "--only", "kitchen"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("possible values: gateway, knowledge"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_program_runs_on_postgres_and_s3() {
    let (database, s3) = (Postgres::shared().await.database().await, S3::start().await);
    let start = |stoa: e2e::stoa::Start| {
        stoa.set("DATABASE_URL", &database)
            .set("OBJECT_STORE_URL", format!("s3://{}/stoa", s3.bucket))
            .set("AWS_ENDPOINT_URL", &s3.endpoint)
            .set("AWS_ACCESS_KEY_ID", &s3.access_key_id)
            .set("AWS_SECRET_ACCESS_KEY", &s3.secret_access_key)
    };
    let (one, other) = (start(Stoa::start()).serve(), start(Stoa::start()).serve());
    for stoa in [&one, &other] {
        assert_eq!(login(stoa, "admin", "password").await.0, 200);
    }
    // Both count the same failures.
    for attempt in 0..12 {
        let stoa = if attempt % 2 == 0 { &one } else { &other };
        let expected = if attempt < 10 { 401 } else { 429 };
        assert_eq!(login(stoa, "admin", "wrong").await.0, expected, "attempt {attempt}");
    }
}
