//! Failures between the client and any vendor, tested with vendor-a.

use crate::openai::{check, chunk, normal};
use crate::peer::{Answer, Part, Peer, error, stream};
use crate::{KEY, ask, chat, failure, model, providers_at};
use futures_util::StreamExt;
use llm::{Cause, Model, Piece, VENDOR_A};
use std::time::{Duration, Instant};

const LIMITED: &str = r#"{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#;

fn begun() -> String {
    chunk(r#"{"content":"Blue"}"#, "null")
}

async fn peer(answers: impl IntoIterator<Item = Answer>) -> Peer {
    Peer::start(check, answers).await
}

/// Returns a model with a short timeout.
fn impatient(peer: &Peer) -> Model {
    providers_at(VENDOR_A, &peer.url(), Duration::from_millis(200)).pick(VENDOR_A, None).unwrap()
}

#[tokio::test]
async fn refusals_of_the_key_or_the_question_are_told_at_once() {
    for status in [400, 401, 403, 404, 413] {
        let peer =
            peer([error(status, r#"{"error":{"message":"no","type":"invalid_request_error"}}"#)]).await;
        let message = ask(&model(VENDOR_A, &peer)).await.1.unwrap_err().to_string();
        assert_eq!(message, format!("provider `vendor-a`, model `default-model`: answered {status}: no"));
        assert_eq!(peer.requests(), 1);
    }
}

#[tokio::test]
async fn a_refusal_that_never_ends_is_told_all_the_same() {
    let drip = || [Part::Bytes(b".".to_vec()), Part::Pause(Duration::from_millis(50))];
    let mut endless = error(403, "no");
    endless.parts.extend((0..60).flat_map(|_| drip()));
    let peer = peer([endless]).await;
    let since = Instant::now();
    let cause = failure(&impatient(&peer)).await;
    assert!(
        matches!(&cause, Cause::Refused { status: 403, message, .. } if message.starts_with("no.")),
        "{cause}"
    );
    assert!(since.elapsed() < Duration::from_millis(1500));
}

#[tokio::test]
async fn a_vendor_that_is_busy_is_asked_again_after_growing_pauses() {
    let peer = peer([error(429, LIMITED), error(500, "{}"), stream(&normal())]).await;
    assert_eq!(ask(&model(VENDOR_A, &peer)).await.0, "Blue – ja 🙂.");
    let pauses = peer.pauses();
    let within = |index: usize, from: u64, to: u64| {
        (Duration::from_millis(from)..Duration::from_millis(to)).contains(&pauses[index])
    };
    assert!(pauses.len() == 2 && within(0, 500, 3000) && within(1, 1000, 3000), "{pauses:?}");
}

#[tokio::test]
async fn after_three_tries_the_last_refusal_is_told() {
    let busy = || error(503, "Service Unavailable").header("retry-after", "0");
    let peer = peer([busy(), busy(), busy()]).await;
    let cause = failure(&model(VENDOR_A, &peer)).await;
    assert!(matches!(cause, Cause::Refused { status: 503, message, .. } if message == "Service Unavailable"));
    assert_eq!(peer.requests(), 3);
}

#[tokio::test]
async fn a_vendors_own_pause_is_kept_or_given_up_when_long() {
    let kept = peer([error(429, LIMITED).header("retry-after", "1"), stream(&normal())]).await;
    assert!(ask(&model(VENDOR_A, &kept)).await.1.is_ok());
    assert!(kept.pauses()[0] >= Duration::from_secs(1), "{:?}", kept.pauses());

    let long = peer([error(429, LIMITED).header("retry-after", "21")]).await;
    let since = Instant::now();
    let cause = failure(&model(VENDOR_A, &long)).await;
    assert!(
        matches!(cause, Cause::Refused { status: 429, retry_after: Some(pause), .. } if pause.as_secs() == 21)
    );
    assert!(since.elapsed() < Duration::from_millis(1500));
}

#[tokio::test]
async fn nothing_is_asked_again_once_a_word_has_come() {
    for broken in [stream(&begun()).then(Part::Cut), stream(&begun())] {
        let peer = peer([broken]).await;
        let (text, end) = ask(&model(VENDOR_A, &peer)).await;
        assert_eq!((text.as_str(), peer.requests()), ("Blue", 1));
        assert!(matches!(end.unwrap_err().cause, Cause::Broken(_)));
    }
}

#[tokio::test]
async fn what_is_no_stream_of_events_is_a_break() {
    let foreign = [
        stream("<html>Sign in</html>").header("content-type", "text/html"),
        stream("data: {\"choices\":\"none\"}\n\n"),
        stream("data: half a"),
        stream(&format!("data: {}\n\n", "x".repeat((1 << 20) + 1))),
    ];
    let peer = peer(foreign).await;
    let model = model(VENDOR_A, &peer);
    for expected in ["text/html", "invalid type", "expected", "1 MiB"] {
        let cause = failure(&model).await;
        assert!(matches!(&cause, Cause::Broken(said) if said.contains(expected)), "{expected}: {cause}");
    }
}

#[tokio::test]
async fn silence_before_and_within_an_answer_has_an_end() {
    let mut mute = stream("");
    mute.parts = vec![Part::Hang];
    let peer = peer([mute, stream(&begun()).then(Part::Hang)]).await;
    let model = impatient(&peer);
    // Before its answer, a server on this machine may read for five times as long.
    for (expected, patience) in [("", 1000), ("Blue", 200)] {
        let (text, end) = ask(&model).await;
        assert_eq!(text, expected);
        let cause = end.unwrap_err().cause;
        assert!(matches!(cause, Cause::Silent(said) if said == Duration::from_millis(patience)), "{cause}");
    }
}

#[tokio::test]
async fn a_server_that_takes_the_question_and_says_nothing_is_silent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let model = providers_at(VENDOR_A, &url, Duration::from_millis(200)).pick(VENDOR_A, None).unwrap();
    assert!(matches!(failure(&model).await, Cause::Silent(_)));
}

#[tokio::test]
async fn a_slow_answer_is_no_silent_one() {
    let pause = || Part::Pause(Duration::from_millis(120));
    let mut slow = stream("");
    slow.parts = vec![pause()];
    for part in [begun(), ": still here\n\n".to_owned(), normal()] {
        slow = slow.then(Part::Bytes(part.into_bytes())).then(pause());
    }
    let peer = peer([slow]).await;
    let (text, end) = ask(&impatient(&peer)).await;
    assert_eq!(text, "BlueBlue – ja 🙂.");
    assert!(end.is_ok());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_tried_thrice() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let since = Instant::now();
    let providers = providers_at(VENDOR_A, &format!("http://{unused}"), Duration::from_secs(5));
    let cause = failure(&providers.pick(VENDOR_A, None).unwrap()).await;
    assert!(matches!(&cause, Cause::Unreachable(said) if said.contains("refused")), "{cause}");
    assert!(since.elapsed() >= Duration::from_millis(1500), "{:?}", since.elapsed());
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = peer([]).await;
    let address = format!("{}/v1/chat/completions", elsewhere.url());
    for status in [301, 302, 307, 308] {
        let peer = peer([error(status, "").header("location", &address)]).await;
        let cause = failure(&model(VENDOR_A, &peer)).await;
        assert!(matches!(cause, Cause::Refused { status: found, .. } if found == status));
    }
    assert_eq!(elsewhere.requests(), 0);
}

#[tokio::test]
async fn a_key_that_the_peer_repeats_is_not_told() {
    let padded = format!("{}{KEY}{}", "x".repeat(290), "y".repeat(500));
    let body = |text: &str| serde_json::json!({"error": {"message": text}}).to_string();
    let in_stream = format!("data: {}\n\n", body(&format!("bad key {KEY}")))
        .replace("\"error\":{", "\"error\":{\"code\":401,");
    let peer = peer([
        error(401, &body(&format!("Incorrect API key provided: {KEY}."))),
        error(401, &format!("plain {KEY}")),
        error(401, &body(&padded)),
        stream(&in_stream),
        stream("").header("content-type", KEY),
    ])
    .await;
    let model = model(VENDOR_A, &peer);
    let mut messages = Vec::new();
    for _ in 0..5 {
        // `ask` looks for the whole key; no part of it may appear either.
        messages.push(failure(&model).await.to_string());
    }
    assert!(messages[0].contains("Incorrect API key provided: [key]."), "{messages:?}");
    assert!(
        messages.iter().all(|message| !message.contains("sk-test") && message.contains("[key]")),
        "{messages:?}"
    );
    assert!(messages[2].ends_with('…') && messages[2].chars().count() < 330, "{}", messages[2]);
}

#[tokio::test]
async fn a_reply_that_is_dropped_closes_the_connection() {
    let peer = peer([stream(&begun()).then(Part::Hang)]).await;
    let mut reply = model(VENDOR_A, &peer).chat(chat());
    assert!(matches!(reply.next().await, Some(Ok(Piece::Text(text))) if text == "Blue"));
    let dropped = Instant::now();
    drop(reply);
    assert!(peer.gone().await - dropped < Duration::from_secs(1));
}

#[tokio::test]
async fn nothing_is_sent_before_the_first_poll_or_without_a_question() {
    let peer = peer([]).await;
    let model = model(VENDOR_A, &peer);
    drop(model.chat(chat()));
    let mut empty = chat();
    empty.messages.truncate(1);
    let first = model.chat(empty).next().await;
    assert!(matches!(first, Some(Err(error)) if matches!(error.cause, Cause::Failed(_))));
    assert_eq!(peer.requests(), 0);
}
