//! What others have left behind: processes that were killed, other tools, and older versions.

use super::{
    ALL, SOON, admin, all_close_soon, all_open, change_password, create, digest_of, gateway_login,
    gateway_token, let_in, record_file,
};
use e2e::tokens::{claims, now, sign};
use e2e::{KnowledgeClient, Stoa, reply};
use reqwest::Method;
use serde_json::json;
use sqlx::Connection;
use std::time::{Duration, Instant};

/// Changes the database as no program would: to what a killed or an older one has left.
async fn in_database(stoa: &Stoa, sql: &str) {
    let url = format!("sqlite://{}", stoa.data.path().join("stoa.db").display());
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_change_that_was_killed_before_the_record_was_written_holds_and_is_finished() {
    let stoa = Stoa::start().only(ALL).serve();
    create(&stoa, "eve", "correct horse battery");
    let before = ["admin", "eve"].map(|name| std::fs::read_to_string(record_file(&stoa, name)).unwrap());
    let user = KnowledgeClient::admin(&stoa).await;
    let (old, eve) = (
        gateway_token(&stoa, "admin", "password").await,
        gateway_token(&stoa, "eve", "correct horse battery").await,
    );
    assert_eq!(change_password(&user, "password", "battery staple").await.status, 200);
    let eve_id = KnowledgeClient::sign_in(&stoa, "eve", "correct horse battery").await.id;
    let user = KnowledgeClient::sign_in(&stoa, "admin", "battery staple").await;
    assert_eq!(user.delete(&format!("/api/users/{eve_id}")).await.status, 200);
    let data = stoa.data.clone();
    // As a kill between the two writes leaves it: the change is committed, the object store has the record of before.
    let after = std::fs::read_to_string(record_file(&stoa, "admin")).unwrap();
    let unfinish = async |stoa: &Stoa| {
        std::fs::write(record_file(stoa, "admin"), &before[0]).unwrap();
        std::fs::write(record_file(stoa, "eve"), &before[1]).unwrap();
        let record = after.replace('\'', "''");
        in_database(
            stoa,
            &format!(
                "UPDATE admin_changes SET is_pending = 1, record = '{record}' WHERE name = 'admin';
             UPDATE admin_changes SET is_pending = 1, record = '' WHERE name = 'eve';"
            ),
        )
        .await;
    };
    // While it runs, and over a start.
    unfinish(&stoa).await;
    assert_eq!(let_in(&stoa, "admin", "password").await, (401, 401));
    assert_eq!(let_in(&stoa, "admin", "battery staple").await, (200, 200));
    assert_eq!(let_in(&stoa, "eve", "correct horse battery").await, (401, 401));
    unfinish(&stoa).await;
    all_close_soon(&stoa, &old).await;
    all_close_soon(&stoa, &eve).await;
    unfinish(&stoa).await;
    drop(stoa);
    let stoa = Stoa::start().only(ALL).data(&data).serve();
    assert_eq!(
        std::fs::read_to_string(record_file(&stoa, "admin")).unwrap(),
        after,
        "the start has finished it"
    );
    assert!(!record_file(&stoa, "eve").exists());
    assert_eq!(let_in(&stoa, "admin", "password").await, (401, 401));
    assert_eq!(let_in(&stoa, "admin", "battery staple").await, (200, 200));
}

#[tokio::test]
async fn killed_at_any_moment_of_a_change_both_services_take_the_same_password() {
    let mut stoa = Stoa::start().only("gateway,knowledge").serve();
    let mut current = "password".to_owned();
    for round in 0..6u64 {
        let user = KnowledgeClient::sign_in(&stoa, "admin", &current).await;
        let new = format!("battery staple {round}");
        let body = json!({ "currentPassword": current, "newPassword": new });
        let sending = tokio::spawn(user.request(Method::POST, "/api/auth/password").json(&body).send());
        tokio::time::sleep(Duration::from_millis(60 * round)).await;
        stoa.signal("KILL");
        let acknowledged = sending.await.unwrap().is_ok_and(|answer| answer.status() == 200);
        let data = stoa.data.clone();
        drop(stoa);
        stoa = Stoa::start().only("gateway,knowledge").data(&data).serve();
        match (let_in(&stoa, "admin", &current).await, let_in(&stoa, "admin", &new).await) {
            ((200, 200), (401, 401)) => {
                assert!(!acknowledged, "round {round}: an acknowledged change is lost")
            }
            ((401, 401), (200, 200)) => current = new,
            split => panic!("round {round}: {split:?}"),
        }
    }
}

#[tokio::test]
async fn what_another_tool_does_to_a_record_holds_too() {
    let stoa = Stoa::start().only(ALL).serve();
    // SHA-256 of `pepper` and the password `correct horse`, then `battery staple`.
    let hashes = [
        "869a1fa0609a1d15a5c3eb891428b7a6c8395b2ee10c4762e97ffca0ebe8c0b5",
        &digest_of("pepperbattery staple"),
    ];
    let write = |name: &str, hash: &str| {
        let record = json!({ "username": name, "salt": "pepper", "hash": hash, "role": "owner" });
        std::fs::write(record_file(&stoa, name), record.to_string()).unwrap();
    };
    write("ops", hashes[0]);
    let first = gateway_token(&stoa, "ops", "correct horse").await;
    all_open(&stoa, &first).await;
    write("ops", hashes[1]);
    all_close_soon(&stoa, &first).await;
    let second = gateway_token(&stoa, "ops", "battery staple").await;
    all_open(&stoa, &second).await;
    std::fs::remove_file(record_file(&stoa, "ops")).unwrap();
    all_close_soon(&stoa, &second).await;

    // The account beside a record: its password and its sessions are of the record that was there.
    let session = KnowledgeClient::admin(&stoa).await;
    assert_eq!(session.get("/api/auth/me").await.status, 200);
    write("admin", hashes[0]);
    assert_eq!(let_in(&stoa, "admin", "password").await, (401, 401));
    let deadline = Instant::now() + SOON;
    while session.get("/api/auth/me").await.status != 401 {
        assert!(Instant::now() < deadline, "the session lives on");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let (code, _, stderr) =
        admin(&Stoa::start().data(&stoa.data), &["password", "admin"], "a third password");
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(let_in(&stoa, "admin", "a third password").await, (200, 200));
    assert_eq!(gateway_login(&stoa, "admin", "a third password").await.json()["user"]["role"], "owner");

    // One that was removed, and made again by the tool.
    write("ops", hashes[0]);
    let start = Stoa::start().data(&stoa.data);
    assert_eq!(admin(&start, &["remove", "ops"], "").0, 0);
    assert_eq!(gateway_login(&stoa, "ops", "correct horse").await.status, 401);
    write("ops", hashes[0]);
    all_open(&stoa, &gateway_token(&stoa, "ops", "correct horse").await).await;
}

#[tokio::test]
async fn accounts_and_tokens_from_before_keep_working_and_can_be_revoked() {
    let stoa = Stoa::start().only(ALL).serve();
    create(&stoa, "eve", "correct horse battery");
    // As an older version has left it.
    in_database(&stoa, "DELETE FROM admin_changes; UPDATE users SET record_generation = ''").await;
    let data = stoa.data.clone();
    drop(stoa);
    let stoa = Stoa::start().only(ALL).data(&data).serve();
    for (name, password) in [("admin", "password"), ("eve", "correct horse battery")] {
        assert_eq!(let_in(&stoa, name, password).await, (200, 200));
    }
    let old_token = |name: &str| {
        let mut claims = claims("AUTH", "admin");
        (claims["projectId"], claims["iat"]) = (name.into(), (now() - 30).into());
        sign(&claims)
    };
    all_open(&stoa, &old_token("admin")).await;
    all_open(&stoa, &old_token("eve")).await;
    let user = KnowledgeClient::admin(&stoa).await;
    let eve = KnowledgeClient::sign_in(&stoa, "eve", "correct horse battery").await;
    assert_eq!(user.delete(&format!("/api/users/{}", eve.id)).await.status, 200);
    assert_eq!(change_password(&user, "password", "battery staple").await.status, 200);
    assert_eq!(let_in(&stoa, "eve", "correct horse battery").await, (401, 401));
    assert_eq!(let_in(&stoa, "admin", "password").await, (401, 401));
    assert_eq!(let_in(&stoa, "admin", "battery staple").await, (200, 200));
    // The identities of these tokens are new each time: the gateway itself refuses the token.
    let deadline = Instant::now() + SOON;
    for name in ["admin", "eve"] {
        let token = old_token(name);
        let ask = async || {
            let url = stoa.url("/build/api/projects");
            reply(reqwest::Client::new().get(url).bearer_auth(&token)).await.status
        };
        while ask().await != 403 {
            assert!(Instant::now() < deadline, "{name}'s old token is good");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}
