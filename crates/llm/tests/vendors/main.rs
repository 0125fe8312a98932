//! The vendors' protocols against strict servers on loopback: requests, answers and every kind of failure.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

mod anthropic;
mod failures;
mod google;
mod openai;
mod peer;
mod providers;
mod tools;

use futures_util::StreamExt;
use llm::{
    Caller, Cause, Chat, ChatError, Edge, Format, Message, Model, Piece, Providers, Purpose, Usage,
    VendorSettings, Vendors, Who,
};
use peer::Peer;
use serde_json::Value;
use std::time::Duration;

const KEY: &str = "sk-test-0123456789abcdef";

fn settings(base_url: &str) -> VendorSettings {
    let (api_key, base_url) = (KEY.parse().unwrap(), base_url.parse().unwrap());
    VendorSettings { api_key, base_url, model: "default-model".to_owned(), window: 128_000 }
}

/// Returns the providers with one vendor at `url`; for vendor-a below `/v1`, as at its public address.
fn providers_at(provider: &str, url: &str, timeout: Duration) -> Providers {
    let mut vendors = Vendors { timeout, ..Vendors::none() };
    match provider {
        llm::VENDOR_A => vendors.a = Some(settings(&format!("{url}/v1"))),
        llm::VENDOR_B => vendors.b = Some(settings(url)),
        _ => vendors.c = Some(settings(url)),
    }
    Providers::new(Edge::new(None, "edge"), vendors, None).unwrap()
}

fn model(provider: &str, peer: &Peer) -> Model {
    providers_at(provider, &peer.url(), Duration::from_secs(5)).pick(provider, None).unwrap()
}

/// Returns a chat with everything that a protocol may have trouble with: system texts, neighbours of one role, stops,
/// a large seed.
fn chat() -> Chat {
    Chat {
        messages: vec![
            Message::system("Be brief."),
            Message::user("Passage [1]: the sky is blue."),
            Message::user("What colour is the sky?"),
            Message::assistant("Blue [1]."),
            Message::system("Cite."),
            Message::user("Sure? „Größe“ 🙂"),
        ],
        max_tokens: 256,
        temperature: 0.25,
        stop: vec!["\nUser:".to_owned(), "\n\n".to_owned()],
        seed: u64::MAX,
        urgent: true,
        caller: Caller::new(Who::Local, Purpose::Test),
        tries: llm::USUAL_TRIES,
        tools: None,
        format: Format::Text,
    }
}

/// Returns the text, and what came at the end.
async fn ask(model: &Model) -> (String, Result<Usage, ChatError>) {
    let mut reply = model.chat(chat());
    let mut text = String::new();
    while let Some(item) = reply.next().await {
        match item {
            Ok(Piece::Text(piece)) => {
                assert!(!piece.is_empty(), "an empty piece");
                text.push_str(&piece);
            }
            Ok(Piece::Call(piece)) => panic!("a call of what there is not: {piece:?}"),
            Ok(Piece::End(usage)) => {
                assert!(reply.next().await.is_none(), "something after the end");
                return (text, Ok(usage));
            }
            Err(error) => {
                assert!(!format!("{error} {error:?}").contains(KEY), "the key is told: {error}");
                assert!(reply.next().await.is_none(), "something after the error");
                return (text, Err(error));
            }
        }
    }
    panic!("the stream ended without an end");
}

async fn failure(model: &Model) -> Cause {
    ask(model).await.1.unwrap_err().cause
}

/// Checks that the first and the last message are the user's and that the roles alternate.
fn in_turns(roles: &[&str], assistant: &str) -> Result<(), String> {
    let expected = ["user", assistant].into_iter().cycle();
    match roles.iter().zip(expected).all(|(role, expected)| *role == expected) && roles.len() % 2 == 1 {
        true => Ok(()),
        false => Err(format!("roles do not take turns: {roles:?}")),
    }
}

/// Parses as the vendor's own server would: unknown fields, wrong types and missing fields are errors.
fn schema<T: serde::de::DeserializeOwned>(body: &Value) -> Result<T, String> {
    serde_json::from_value(body.clone()).map_err(|fault| fault.to_string())
}

fn hold(holds: bool, fault: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(fault.to_owned()) }
}
