//! `POST /auth/login`: what it takes, what it gives, what it refuses.

use e2e::tokens::{now, verified};
use e2e::{Raw, Reply, Stoa, reply};
use serde_json::json;

pub async fn send(stoa: &Stoa, body: impl Into<reqwest::Body>) -> Reply {
    reply(reqwest::Client::new().post(stoa.url("/auth/login")).body(body)).await
}

pub async fn login(stoa: &Stoa, username: &str, password: &str) -> Reply {
    send(stoa, json!({ "username": username, "password": password }).to_string()).await
}

/// As another tool would write it: SHA-256 of the salt `pepper` and the password `correct horse`.
pub fn write_record(stoa: &Stoa, username: &str, hash: &str) {
    let folder = stoa.data.path().join("objects/auth/admins");
    std::fs::create_dir_all(&folder).unwrap();
    let record = json!({ "username": username, "salt": "pepper", "hash": hash, "role": "owner" });
    std::fs::write(folder.join(format!("{username}.json")), record.to_string()).unwrap();
}

pub const CORRECT_HORSE: &str = "869a1fa0609a1d15a5c3eb891428b7a6c8395b2ee10c4762e97ffca0ebe8c0b5";

fn refused() -> (u16, String, String) {
    (401, "INVALID_CREDENTIALS".into(), "AUTH".into())
}

#[tokio::test]
async fn an_administrator_gets_a_token_with_every_claim() {
    let stoa = Stoa::start().serve();
    let answer = login(&stoa, "admin", "password").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), ["application/json"]);
    assert_eq!(answer.header("cache-control"), ["no-store"]);
    assert_eq!(answer.header("x-request-id").len(), 1);
    let body = answer.json();
    assert_eq!(body["success"], true);
    assert_eq!(body["user"], json!({ "username": "admin", "role": "admin" }));

    let (header, claims) = verified(body["token"].as_str().unwrap());
    assert_eq!(header["alg"], "HS256");
    let iat = claims["iat"].as_i64().unwrap();
    assert!((now() - 5..=now()).contains(&iat));
    let expected = json!({
        "projectId": "admin", "route": "AUTH", "scopes": ["admin"], "environment": "staging",
        "issuedBy": "stoa", "iss": "stoa", "aud": "stoa", "iat": iat, "exp": iat + 3600,
        "generation": claims["generation"],
    });
    assert_eq!(claims["generation"].as_str().map(str::len), Some(16));
    assert_eq!(claims, expected);
}

#[tokio::test]
async fn the_body_is_read_whatever_its_content_type_says() {
    let stoa = Stoa::start().serve();
    let body = json!({ "username": "admin", "password": "password", "unknown": [1] }).to_string();
    assert_eq!(send(&stoa, body.clone()).await.status, 200, "none at all");
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "nonsense"] {
        let request = reqwest::Client::new().post(stoa.url("/auth/login"));
        let answer = reply(request.header("content-type", content_type).body(body.clone())).await;
        assert_eq!(answer.status, 200, "{content_type}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_login_is_an_invalid_request() {
    let stoa = Stoa::start().serve();
    let nested =
        format!(r#"{{"username":"admin","password":"password","x":{}{}}}"#, "[".repeat(64), "]".repeat(64));
    for body in [
        "",
        "{}",
        r#"{"username":"admin"}"#,
        r#"{"password":"password"}"#,
        r#"{"username":"","password":"password"}"#,
        r#"{"username":"admin","password":""}"#,
        r#"{"username":7,"password":"password"}"#,
        r#"{"username":["admin"],"password":"password"}"#,
        r#"{"username":"admin","password":null}"#,
        r#"{"username":"admin","password":true}"#,
        r#"["admin","password"]"#,
        r#""admin""#,
        "username=admin&password=password",
        r#"{"username":"admin","password":"password""#,
        &nested,
    ] {
        let answer = send(&stoa, body.to_owned()).await;
        assert_eq!(answer.error(), (400, "INVALID_REQUEST".into(), "AUTH".into()), "{body}");
    }
    let not_utf8 = b"{\"username\":\"admin\",\"password\":\"\xff\"}".to_vec();
    assert_eq!(send(&stoa, not_utf8).await.status, 400);
}

#[tokio::test]
async fn a_body_nested_as_deep_as_allowed_is_read() {
    let stoa = Stoa::start().serve();
    let (open, close) = ("[".repeat(63), "]".repeat(63));
    let body = format!(r#"{{"username":"admin","password":"password","x":{open}{close}}}"#);
    assert_eq!(send(&stoa, body).await.status, 200);
}

#[tokio::test]
async fn a_body_over_1_mib_is_too_large_whether_its_length_is_told_or_not() {
    let stoa = Stoa::start().serve();
    let body = |size: usize| {
        let start = r#"{"username":"admin","password":"password","x":""#;
        format!("{start}{}\"}}", "x".repeat(size - start.len() - 2))
    };
    assert_eq!(send(&stoa, body(1024 * 1024)).await.status, 200);
    let too_large = (413, "PAYLOAD_TOO_LARGE".into(), "AUTH".into());
    assert_eq!(send(&stoa, body(1024 * 1024 + 1)).await.error(), too_large);

    let mut raw = Raw::connect(stoa.gateway).await;
    let text = body(1024 * 1024 + 1);
    raw.send("POST /auth/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    raw.send(format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len())).await;
    let answer = raw.read_answer().await;
    assert_eq!((answer.status, &answer.json()["code"]), (413, &json!("PAYLOAD_TOO_LARGE")));
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_user_get_the_same_answer() {
    let stoa = Stoa::start().serve();
    let wrong = login(&stoa, "admin", "passwor").await;
    let unknown = login(&stoa, "nobody", "password").await;
    assert_eq!((wrong.error(), unknown.error()), (refused(), refused()));
    assert_eq!(wrong.json()["message"], unknown.json()["message"]);
    assert_eq!(wrong.header("cache-control"), ["no-store"]);
}

#[tokio::test]
async fn a_record_written_by_another_tool_works_and_gives_its_role() {
    let stoa = Stoa::start().serve();
    write_record(&stoa, "lower", CORRECT_HORSE);
    write_record(&stoa, "upper", &CORRECT_HORSE.to_uppercase());
    for username in ["lower", "upper"] {
        let answer = login(&stoa, username, "correct horse").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["user"], json!({ "username": username, "role": "owner" }));
        let (_, claims) = verified(answer.json()["token"].as_str().unwrap());
        assert_eq!((&claims["projectId"], &claims["scopes"]), (&json!(username), &json!(["admin"])));
        assert_eq!(login(&stoa, username, "correct horse ").await.error(), refused());
        assert_eq!(login(&stoa, username, CORRECT_HORSE).await.error(), refused(), "the hash is no password");
    }
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_no_user() {
    let stoa = Stoa::start().serve();
    let folder = stoa.data.path().join("objects/auth/admins");
    std::fs::write(folder.join("broken.json"), "{\"username\":\"broken\"").unwrap();
    write_record(&stoa, "other", CORRECT_HORSE);
    std::fs::rename(folder.join("other.json"), folder.join("renamed.json")).unwrap();
    assert_eq!(login(&stoa, "broken", "").await.status, 400);
    assert_eq!(login(&stoa, "broken", "correct horse").await.error(), refused());
    assert_eq!(login(&stoa, "renamed", "correct horse").await.error(), refused(), "the record is another's");
}

#[tokio::test]
async fn usernames_that_would_leave_their_folder_are_unknown_users() {
    let stoa = Stoa::start().serve();
    write_record(&stoa, "known", CORRECT_HORSE);
    let objects = stoa.data.path().join("objects");
    std::fs::copy(objects.join("auth/admins/known.json"), objects.join("auth/outside.json")).unwrap();
    let long = "x".repeat(65);
    for username in [
        "../admins/known",
        "./known",
        "a/b",
        "/known",
        "known/",
        "..",
        ".",
        "../outside",
        "%2e%2e",
        "..%2foutside",
        "known\0",
        "known.json\0",
        "..\\outside",
        "KNOWN",
        " known",
        "known ",
        "knöwn",
        "*",
        &long,
    ] {
        assert_eq!(login(&stoa, username, "correct horse").await.error(), refused(), "{username:?}");
    }
    assert_eq!(login(&stoa, "known", "correct horse").await.status, 200);
}
