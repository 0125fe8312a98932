//! Guessing passwords: what it costs, and what it tells.

use crate::login::{CORRECT_HORSE, login, write_record};
use e2e::{Reply, Stoa};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Wrong guesses, all at the same time.
async fn guess(stoa: &Arc<Stoa>, usernames: impl Iterator<Item = String>) -> Vec<Reply> {
    let mut guesses = JoinSet::new();
    for username in usernames {
        let stoa = stoa.clone();
        guesses.spawn(async move { login(&stoa, &username, "wrong").await });
    }
    guesses.join_all().await
}

async fn guess_admin(stoa: &Arc<Stoa>, times: usize) -> Vec<Reply> {
    guess(stoa, (0..times).map(|_| "admin".to_owned())).await
}

fn assert_throttled(answer: &Reply) {
    assert_eq!(answer.error(), (429, "TOO_MANY_REQUESTS".into(), "AUTH".into()));
    let wait: u64 = answer.header("retry-after")[0].parse().unwrap();
    assert!((1..=900).contains(&wait), "{wait}");
}

#[tokio::test]
async fn after_ten_failures_a_username_waits_even_with_the_right_password() {
    let stoa = Arc::new(Stoa::start().serve());
    write_record(&stoa, "other", CORRECT_HORSE);
    for answer in guess_admin(&stoa, 9).await {
        assert_eq!(answer.status, 401);
    }
    assert_eq!(login(&stoa, "admin", "password").await.status, 200, "nine are not ten");
    assert_eq!(login(&stoa, "admin", "wrong").await.status, 401);
    assert_throttled(&login(&stoa, "admin", "password").await);
    assert_throttled(&login(&stoa, "admin", "wrong").await);
    assert_eq!(login(&stoa, "other", "correct horse").await.status, 200, "others are not held up");
}

#[tokio::test]
async fn guesses_sent_at_the_same_time_are_counted_one_by_one() {
    let stoa = Arc::new(Stoa::start().serve());
    let answers = guess_admin(&stoa, 30).await;
    let (failed, throttled): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 401);
    assert_eq!(failed.len(), 10);
    throttled.into_iter().for_each(assert_throttled);
}

#[tokio::test]
async fn after_fifty_failures_an_address_waits_whatever_the_username() {
    let stoa = Arc::new(Stoa::start().serve());
    let first = guess(&stoa, (0..49).map(|number| format!("user-{number}"))).await;
    assert!(first.iter().all(|answer| answer.status == 401));
    assert_eq!(login(&stoa, "admin", "password").await.status, 200, "forty-nine are not fifty");
    assert_eq!(login(&stoa, "not/a/name", "wrong").await.status, 401, "which counts as well");
    assert_throttled(&login(&stoa, "admin", "password").await);
    assert_throttled(&login(&stoa, "user-99", "wrong").await);
}

#[tokio::test]
async fn failures_behind_a_trusted_proxy_are_counted_by_the_real_address() {
    let stoa = Arc::new(Stoa::start().set("TRUSTED_PROXIES", "127.0.0.1").serve());
    let from = |address: &'static str, username: String, password: &'static str| {
        let request = reqwest::Client::new().post(stoa.url("/auth/login")).header("x-forwarded-for", address);
        let body = serde_json::json!({ "username": username, "password": password });
        async move { e2e::reply(request.json(&body)).await }
    };
    let mut guesses = JoinSet::new();
    for number in 0..50 {
        guesses.spawn(from("192.0.2.1", format!("user-{number}"), "wrong"));
    }
    assert!(guesses.join_all().await.iter().all(|answer| answer.status == 401));
    assert_throttled(&from("192.0.2.1", "admin".into(), "password").await);
    assert_throttled(&from("192.0.2.9, 192.0.2.1", "admin".into(), "password").await);
    assert_eq!(from("192.0.2.2", "admin".into(), "password").await.status, 200);
}

#[tokio::test]
async fn the_throttle_survives_a_kill() {
    let stoa = Arc::new(Stoa::start().serve());
    guess_admin(&stoa, 10).await;
    let data = stoa.data.clone();
    let stoa = Arc::into_inner(stoa).unwrap();
    stoa.signal("KILL");
    assert_eq!(stoa.wait().0, None, "killed by the signal");
    let stoa = Stoa::start().data(&data).serve();
    assert_throttled(&login(&stoa, "admin", "password").await);
}

#[tokio::test]
async fn a_success_is_not_counted_as_a_failure() {
    let stoa = Stoa::start().serve();
    for _ in 0..60 {
        assert_eq!(login(&stoa, "admin", "password").await.status, 200);
    }
}

#[tokio::test]
async fn unknown_users_and_wrong_passwords_take_the_same_time() {
    let stoa = Stoa::start().serve();
    let _quiet = crate::transfers::QUIET.lock().await;
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for round in 0..20 {
        // Ten failures are allowed for each name.
        let user = round / 10;
        write_record(&stoa, &format!("known-{user}"), CORRECT_HORSE);
        for (times, name) in [(&mut known, "known"), (&mut unknown, "unknown")] {
            let started = Instant::now();
            let answer = login(&stoa, &format!("{name}-{user}"), "wrong").await;
            times.push(started.elapsed());
            assert_eq!(answer.status, 401);
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let (known, unknown) = (median(&mut known), median(&mut unknown));
    assert!(known.abs_diff(unknown) < Duration::from_millis(15), "{known:?} and {unknown:?}");
}
