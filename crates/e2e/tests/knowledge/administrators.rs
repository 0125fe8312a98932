//! An administrator has one account, whichever service changes it: passwords, removal, tokens, and kills in between.

mod left_behind;

use e2e::knowledge_client::login_digest;
use e2e::postgres::Postgres;
use e2e::s3::S3;
use e2e::stoa::{JWT_SECRET, Start};
use e2e::tokens::{claims, now, sign, sign_as, verified};
use e2e::{Form, KnowledgeClient, Reply, Stoa, reply};
use reqwest::Method;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

const ALL: &str = "gateway,knowledge,supervisor,portal,leads";
/// What "within seconds" means, on a busy machine.
const SOON: Duration = Duration::from_secs(15);

pub async fn gateway_login(stoa: &Stoa, username: &str, password: &str) -> Reply {
    let body = json!({ "username": username, "password": password });
    reply(reqwest::Client::new().post(stoa.url("/auth/login")).json(&body)).await
}

pub async fn gateway_token(stoa: &Stoa, username: &str, password: &str) -> String {
    let answer = gateway_login(stoa, username, password).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["token"].as_str().unwrap().to_owned()
}

async fn knowledge_login(stoa: &Stoa, username: &str, password: &str) -> u16 {
    let url = format!("http://{}/api/auth/login", stoa.knowledge.unwrap());
    let body = json!({ "username": username, "password": login_digest(username, password) });
    reply(reqwest::Client::new().post(url).json(&body)).await.status
}

/// Whether the two services let this password in.
async fn let_in(stoa: &Stoa, username: &str, password: &str) -> (u16, u16) {
    let gateway = gateway_login(stoa, username, password).await.status;
    (gateway, knowledge_login(stoa, username, password).await)
}

pub fn identity(claims: &Value) -> String {
    let mut claims = claims.clone();
    (claims["iat"], claims["exp"]) = (now().into(), (now() + 60).into());
    let header = json!({ "typ": "gateway-identity+jwt", "alg": "HS256" });
    sign_as(&header, &claims, JWT_SECRET, jsonwebtoken::Algorithm::HS256)
}

/// What an administrator's token opens: every service through the gateway, and directly with the token or with what
/// the gateway says of it.
async fn doors(stoa: &Stoa, token: &str) -> Vec<(String, u16)> {
    let identity = identity(&verified(token).1);
    let direct =
        |address: Option<std::net::SocketAddr>, path: &str| format!("http://{}{path}", address.unwrap());
    let get = |url: String, name: &'static str, value: String| (url, name, value);
    let bearer = format!("Bearer {token}");
    let requests = [
        get(stoa.url("/core/api/users"), "authorization", bearer.clone()),
        get(stoa.url("/kv/api/portal/updates"), "authorization", bearer.clone()),
        get(stoa.url("/kv/api/leads"), "authorization", bearer.clone()),
        get(stoa.url("/build/api/projects"), "authorization", bearer.clone()),
        get(direct(stoa.portal, "/api/portal/updates"), "authorization", bearer.clone()),
        get(direct(stoa.leads, "/api/leads"), "authorization", bearer),
        get(direct(stoa.portal, "/api/portal/updates"), "x-gateway-identity", identity.clone()),
        get(direct(stoa.leads, "/api/leads"), "x-gateway-identity", identity.clone()),
        get(direct(stoa.supervisor, "/api/projects"), "x-gateway-identity", identity.clone()),
        get(direct(stoa.knowledge, "/api/users"), "x-gateway-identity", identity),
    ];
    let mut statuses = Vec::new();
    for (url, name, value) in requests {
        let status = reply(reqwest::Client::new().get(&url).header(name, value)).await.status;
        statuses.push((format!("{url} by {name}"), status));
    }
    statuses
}

async fn all_open(stoa: &Stoa, token: &str) {
    let open = doors(stoa, token).await;
    assert!(open.iter().all(|(_, status)| *status == 200), "{open:#?}");
}

async fn all_close_soon(stoa: &Stoa, token: &str) {
    let deadline = Instant::now() + SOON;
    loop {
        let doors = doors(stoa, token).await;
        if doors.iter().all(|(_, status)| [401, 403].contains(status)) {
            return;
        }
        assert!(Instant::now() < deadline, "{doors:#?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// `stoa admin …` beside a running server: exit code, standard output, standard error.
fn admin(start: &Start, arguments: &[&str], password: &str) -> (i32, String, String) {
    let mut command = start.command(&[&["admin"], arguments].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(password.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn create(stoa: &Stoa, name: &str, password: &str) {
    let (code, _, stderr) = admin(&Stoa::start().data(&stoa.data), &["create", name], password);
    assert_eq!(code, 0, "{stderr}");
}

async fn change_password(user: &KnowledgeClient, current: &str, new: &str) -> Reply {
    let body = json!({ "currentPassword": current, "newPassword": new });
    reply(user.request(Method::POST, "/api/auth/password").json(&body)).await
}

fn record_file(stoa: &Stoa, name: &str) -> PathBuf {
    stoa.data.path().join(format!("objects/auth/admins/{name}.json"))
}

#[tokio::test]
async fn a_new_password_holds_in_both_services_and_ends_every_token() {
    let stoa = Stoa::start().only(ALL).serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let old = gateway_token(&stoa, "admin", "password").await;
    all_open(&stoa, &old).await;
    assert_eq!(change_password(&user, "wrong password", "battery staple").await.status, 401);
    assert_eq!(change_password(&user, "password", "battery staple").await.status, 200);
    assert_eq!(let_in(&stoa, "admin", "password").await, (401, 401));
    assert_eq!(let_in(&stoa, "admin", "battery staple").await, (200, 200));
    let new = gateway_token(&stoa, "admin", "battery staple").await;
    all_open(&stoa, &new).await;
    all_close_soon(&stoa, &old).await;
    all_open(&stoa, &new).await;
    let answer = reply(reqwest::Client::new().get(stoa.url("/build/api/projects")).bearer_auth(&old)).await;
    assert_eq!(answer.error(), (403, "INVALID_TOKEN".into(), "BUILD".into()));
}

#[tokio::test]
async fn a_removed_administrator_is_gone_everywhere_and_does_not_come_back() {
    let stoa = Stoa::start().only(ALL).serve();
    let user = KnowledgeClient::admin(&stoa).await;
    create(&stoa, "eve", "correct horse battery");
    let token = gateway_token(&stoa, "eve", "correct horse battery").await;
    all_open(&stoa, &token).await;
    let eve = KnowledgeClient::sign_in(&stoa, "eve", "correct horse battery").await;
    assert_eq!(user.delete(&format!("/api/users/{}", eve.id)).await.status, 200);
    assert_eq!(eve.get("/api/auth/me").await.status, 401);
    assert_eq!(let_in(&stoa, "eve", "correct horse battery").await, (401, 401));
    assert!(!record_file(&stoa, "eve").exists());
    all_close_soon(&stoa, &token).await;
    // Nor by what was signed after the removal, whoever has the secret.
    let mut minted = claims("AUTH", "admin");
    minted["projectId"] = "eve".into();
    all_close_soon(&stoa, &sign(&minted)).await;
    let users = user.get("/api/users").await.json();
    assert_eq!(users["users"].as_array().unwrap().len(), 1, "{users}");

    // Made again, she is somebody new.
    create(&stoa, "eve", "correct horse battery");
    assert_eq!(let_in(&stoa, "eve", "correct horse battery").await, (200, 200));
    all_open(&stoa, &gateway_token(&stoa, "eve", "correct horse battery").await).await;
    all_close_soon(&stoa, &token).await;
}

#[tokio::test]
async fn administrators_are_listed_changed_and_removed_from_the_command_line() {
    let stoa = Stoa::start().only(ALL).serve();
    let start = Stoa::start().data(&stoa.data);
    create(&stoa, "Eve", "correct horse battery");
    let (code, list, _) = admin(&start, &["list"], "");
    let columns: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(code, 0);
    assert_eq!(
        columns,
        [["admin", "admin", "gateway,", "knowledge"], ["Eve", "admin", "gateway,", "knowledge"]]
    );

    let token = gateway_token(&stoa, "Eve", "correct horse battery").await;
    let (code, said, _) = admin(&start, &["password", "eve"], "another horse\n");
    assert_eq!((code, said.as_str()), (0, "changed the password of administrator Eve\n"));
    assert_eq!(let_in(&stoa, "Eve", "correct horse battery").await, (401, 401));
    assert_eq!(let_in(&stoa, "Eve", "another horse").await, (200, 200));
    all_close_soon(&stoa, &token).await;
    for (arguments, password, expected) in [
        (["password", "nobody"], "another horse", "no administrator `nobody`"),
        (["password", "eve"], "eleven char", "at least 12"),
        (["create", "mallory"], "eleven char", "at least 12"),
        (["remove", "nobody"], "", "no administrator `nobody`"),
    ] {
        let (code, _, stderr) = admin(&start, &arguments, password);
        assert!(code == 1 && stderr.contains(expected), "{arguments:?}: {code} {stderr}");
    }

    let token = gateway_token(&stoa, "Eve", "another horse").await;
    assert_eq!(admin(&start, &["remove", "eve"], "").0, 0);
    assert_eq!(let_in(&stoa, "Eve", "another horse").await, (401, 401));
    all_close_soon(&stoa, &token).await;
    let (code, _, stderr) = admin(&start, &["remove", "admin"], "");
    assert!(code == 1 && stderr.contains("last administrator"), "{stderr}");
    assert_eq!(let_in(&stoa, "admin", "password").await, (200, 200));
    assert_eq!(admin(&start, &["list"], "").1.lines().count(), 1);
}

/// Two administrators remove each other at once: one of them stays.
async fn last_one_stays(one: &Stoa, other: &Stoa) {
    let admin = KnowledgeClient::admin(one).await;
    let form =
        Form::new().text("name", "Eve").text("email", "eve@example.org").text("password", "correct horse");
    assert_eq!(
        admin.submit("/api/signup", form.text("username", "eve").text("isAdmin", "true")).await.status,
        200
    );
    let eve = KnowledgeClient::sign_in(other, "eve", "correct horse").await;
    let (eve_path, admin_path) = (format!("/api/users/{}", eve.id), format!("/api/users/{}", admin.id));
    let (first, second) = tokio::join!(admin.delete(&eve_path), eve.delete(&admin_path));
    let removed = [&first, &second].iter().filter(|answer| answer.status == 200).count();
    assert_eq!(removed, 1, "{first:?} {second:?}");
    let left = (let_in(one, "admin", "password").await, let_in(other, "eve", "correct horse").await);
    assert!([((200, 200), (401, 401)), ((401, 401), (200, 200))].contains(&left), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_administrator_stays_when_two_remove_each_other() {
    for _ in 0..3 {
        let stoa = Stoa::start().only("gateway,knowledge").serve();
        last_one_stays(&stoa, &stoa).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_on_postgres_and_s3_agree_on_an_administrator() {
    let (database, s3) = (Postgres::shared().await.database().await, S3::start().await);
    let start = || {
        let start = Stoa::start().only(ALL).set("DATABASE_URL", &database);
        start
            .set("OBJECT_STORE_URL", format!("s3://{}/stoa", s3.bucket))
            .set("AWS_ENDPOINT_URL", &s3.endpoint)
            .set("AWS_ACCESS_KEY_ID", &s3.access_key_id)
            .set("AWS_SECRET_ACCESS_KEY", &s3.secret_access_key)
    };
    let (one, other) = (start().serve(), start().serve());
    let user = KnowledgeClient::admin(&one).await;
    let old = gateway_token(&other, "admin", "password").await;
    all_open(&other, &old).await;
    assert_eq!(change_password(&user, "password", "battery staple").await.status, 200);
    assert_eq!(let_in(&other, "admin", "password").await, (401, 401));
    let new = gateway_token(&one, "admin", "battery staple").await;
    // At once, though the other process still remembers the generation before.
    all_open(&other, &new).await;
    assert_eq!(
        KnowledgeClient::sign_in(&one, "admin", "battery staple").await.get("/api/users").await.status,
        200
    );
    all_close_soon(&other, &old).await;
    all_close_soon(&one, &old).await;

    let (code, _, stderr) = admin(&start(), &["password", "admin"], "password and more");
    assert_eq!(code, 0, "{stderr}");
    all_close_soon(&other, &new).await;
    assert_eq!(admin(&start(), &["create", "eve"], "correct horse battery").0, 0);
    let eve = gateway_token(&other, "eve", "correct horse battery").await;
    all_open(&one, &eve).await;
    assert_eq!(admin(&start(), &["remove", "eve"], "").0, 0);
    assert_eq!(let_in(&one, "eve", "correct horse battery").await, (401, 401));
    all_close_soon(&one, &eve).await;
    all_close_soon(&other, &eve).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_administrator_stays_on_postgres() {
    let database = Postgres::shared().await.database().await;
    let objects = tempfile::tempdir().unwrap();
    let start = || {
        let start = Stoa::start().only("gateway,knowledge").set("DATABASE_URL", &database);
        start.set("OBJECT_STORE_URL", format!("file://{}", objects.path().display())).serve()
    };
    let (one, other) = (start(), start());
    last_one_stays(&one, &other).await;
}

fn digest_of(text: &str) -> String {
    login_digest(text, "")
}

#[tokio::test]
async fn an_administrator_who_signs_up_is_one_at_the_gateway_too() {
    let stoa = Stoa::start().only(ALL).serve();
    let user = KnowledgeClient::admin(&stoa).await;
    let form = |username: &str| {
        let form = Form::new().text("name", "Eve").text("email", &format!("{username}@example.org"));
        form.text("username", username).text("password", "correct horse").text("isAdmin", "true")
    };
    assert_eq!(user.submit("/api/signup", form("eve")).await.status, 200);
    all_open(&stoa, &gateway_token(&stoa, "eve", "correct horse").await).await;
    // Nobody takes the name of an administrator whom only the gateway knows.
    let record =
        json!({ "username": "ops", "salt": "pepper", "hash": digest_of("pepperx"), "role": "owner" });
    std::fs::write(record_file(&stoa, "ops"), record.to_string()).unwrap();
    let taken = user.submit("/api/signup", form("ops")).await;
    assert!(taken.status == 400 && taken.body.contains("`ops` is taken"), "{taken:?}");
}
