//! OpenAI's embeddings: what a vector is, what is refused, and that a large batch delays no search.

use crate::openai::fault;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use e2e::{KnowledgeClient, Reply, Stoa, reply};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const MODEL: &str = "edge-ai/all-minilm-l6-v2";
const SIZE: usize = 384;
/// The encoder's window, without the tokens at both ends of a text.
const MOST_WORDS: usize = 254;

/// Returns a text of so many tokens.
fn words(number: usize) -> String {
    vec!["the"; number].join(" ")
}

fn with(name: &str, value: Value) -> Value {
    let mut body = json!({ "model": MODEL, "input": "The pump circulates coolant." });
    body[name] = value;
    body
}

async fn embed(user: &KnowledgeClient, body: &Value) -> Reply {
    user.post_json("/v1/embeddings", body).await
}

/// Returns the vectors of an answer, which must be in the order of the texts.
fn vectors(answer: &Reply) -> Vec<Vec<f32>> {
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    let data = body["data"].as_array().unwrap();
    let numbers =
        |list: &Value| list.as_array().unwrap().iter().map(|one| one.as_f64().unwrap() as f32).collect();
    for (index, one) in data.iter().enumerate() {
        assert_eq!((&one["object"], &one["index"]), (&json!("embedding"), &json!(index)));
    }
    data.iter().map(|one| numbers(&one["embedding"])).collect()
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[tokio::test]
async fn vectors_have_length_one_and_are_near_if_the_meaning_is() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    let texts = ["hello world", "A mite that lives on bees.", "Parasites of insects.", "The budget of 2019."];
    let answer = embed(&ada, &with("input", json!(texts))).await;
    let found = vectors(&answer);
    assert_eq!(found.len(), texts.len());
    for vector in &found {
        assert_eq!(vector.len(), SIZE);
        assert!((dot(vector, vector) - 1.0).abs() < 1e-3, "{}", dot(vector, vector));
    }
    let (near, far) = (dot(&found[1], &found[2]), dot(&found[1], &found[3]));
    assert!(near > far + 0.2, "{near} and {far}");
    let body = answer.json();
    assert_eq!((&body["object"], &body["model"]), (&json!("list"), &json!(MODEL)));

    // Two words and the two tokens at the ends of the text, by the model's name without its provider.
    let body =
        json!({ "model": "all-minilm-l6-v2", "input": "hello world", "user": "ada", "dimensions": SIZE });
    let answer = embed(&ada, &body).await;
    assert_eq!(answer.json()["usage"], json!({ "prompt_tokens": 4, "total_tokens": 4 }), "{answer:?}");
    assert_eq!(answer.json()["model"], MODEL);
    assert!(dot(&vectors(&answer)[0], &found[0]) > 0.999, "alone as among others");

    let answer = embed(&ada, &with("encoding_format", json!("float"))).await;
    let floats = vectors(&answer)[0].clone();
    let answer = embed(&ada, &with("encoding_format", json!("base64"))).await.json();
    let bytes = BASE64_STANDARD.decode(answer["data"][0]["embedding"].as_str().unwrap()).unwrap();
    let (parts, rest) = bytes.as_chunks::<4>();
    let decoded: Vec<f32> = parts.iter().map(|part| f32::from_le_bytes(*part)).collect();
    assert_eq!((decoded.len(), rest.len()), (SIZE, 0));
    assert!(
        decoded.iter().zip(&floats).all(|(one, other)| (one - other).abs() < 1e-5),
        "{decoded:?} {floats:?}"
    );
}

#[tokio::test]
async fn what_cannot_be_embedded_is_refused_by_name() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 100).serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    let long = words(MOST_WORDS + 1);
    for (field, value, param, said) in [
        ("input", json!(""), "input", "`input` is empty"),
        ("input", json!([]), "input", "at least one text"),
        ("input", json!(["a", ""]), "input[1]", "`input[1]` is empty"),
        ("input", json!([15339, 1917]), "input[0]", "tokens are not supported"),
        ("input", json!([[15339], [1917]]), "input[0]", "tokens are not supported"),
        ("input", json!(["a", null]), "input[1]", "`input[1]` is not a string"),
        ("input", json!({ "text": "a" }), "input", "a string or an array of strings"),
        ("input", json!(null), "input", "a string or an array of strings"),
        ("input", json!(vec!["a"; 2049]), "input", "at most 2048"),
        ("input", json!(long), "input", "`input` has 257 tokens: at most 256"),
        ("input", json!(["a", "b", long]), "input[2]", "`input[2]` has 257 tokens: at most 256"),
        ("input", json!(vec![words(MOST_WORDS); 1200]), "input", "307200 tokens"),
        ("dimensions", json!(256), "dimensions", "`dimensions` is not 384"),
        ("dimensions", json!(0), "dimensions", "whole number"),
        ("encoding_format", json!("int8"), "encoding_format", "float, base64"),
        ("model", json!(""), "model", "`model`"),
        ("model", json!(7), "model", "`model`"),
    ] {
        let answer = embed(&ada, &with(field, value)).await;
        let expected = (400, json!("invalid_request_error"), json!(param), Value::Null);
        assert_eq!(fault(&answer), expected, "{field}: {answer:?}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(said), "{said}: {answer:?}");
    }
    let longest = embed(&ada, &with("input", json!(words(MOST_WORDS)))).await;
    assert_eq!(longest.json()["usage"]["prompt_tokens"], 256, "{longest:?}");
    let large = with("user", json!("x".repeat(4 << 20)));
    assert_eq!(fault(&embed(&ada, &large).await).0, 413);
    let unknown = embed(&ada, &json!({ "model": MODEL, "input": " ", "user": "ada", "style": "x" })).await;
    assert_eq!((unknown.status, unknown.header("x-unknown-fields")), (200, vec!["style"]));
}

#[tokio::test]
async fn the_encoder_is_a_model_beside_the_others() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 100).serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    let models = ada.get("/v1/models").await.json();
    let last = models["data"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["id"], &last["owned_by"]), (&json!(MODEL), &json!("edge-ai")), "{models}");
    assert_eq!(ada.get(&format!("/v1/models/{MODEL}")).await.json()["id"], MODEL);
    let not_found = (404, json!("invalid_request_error"), json!("model"), json!("model_not_found"));
    let chat = models["data"][1]["id"].as_str().unwrap();
    for name in ["text-embedding-3-small", "stoa", "edge-ai", chat, "edge-ai/edge-ai/all-minilm-l6-v2"] {
        let answer = embed(&ada, &with("model", json!(name))).await;
        assert_eq!(fault(&answer), not_found, "{name}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(MODEL), "{answer:?}");
    }
    let body = json!({ "model": MODEL, "messages": [{ "role": "user", "content": "Hello." }] });
    assert_eq!(fault(&ada.post_json("/v1/chat/completions", &body).await), not_found, "it does not chat");
    let wrong = ada.get("/v1/embeddings").await;
    assert_eq!((fault(&wrong).0, wrong.header("allow")), (405, vec!["POST"]));
    let url = format!("http://{}/v1/embeddings", stoa.knowledge.unwrap());
    let stranger = reply(reqwest::Client::new().post(url).json(&with("user", json!("ada")))).await;
    assert_eq!(
        fault(&stranger),
        (401, json!("invalid_request_error"), Value::Null, json!("invalid_api_key"))
    );
}

#[tokio::test]
async fn embeddings_are_no_questions() {
    let stoa = Stoa::start_knowledge().set("CHAT_REQUESTS_PER_MINUTE", 1).serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    for _ in 0..3 {
        let answer = embed(&ada, &with("user", json!(null))).await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining").len()), (200, 0));
    }
}

#[tokio::test]
async fn without_the_encoder_it_says_how_to_get_one() {
    let stoa = Stoa::start_knowledge().set("STOA_MODELS_DIR", "/nowhere").serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    let answer = embed(&ada, &with("user", json!("ada"))).await;
    assert_eq!(fault(&answer), (503, json!("server_error"), Value::Null, Value::Null));
    assert!(answer.body.contains("stoa models pull"), "{answer:?}");
    assert!(!ada.get("/v1/models").await.body.contains(MODEL));
    assert_eq!(ada.get(&format!("/v1/models/{MODEL}")).await.status, 404);
}

#[tokio::test]
async fn a_large_batch_delays_no_search() {
    let stoa = Stoa::start_knowledge().serve();
    let ada = KnowledgeClient::admin(&stoa).await;
    ada.ingest_text("a.txt", "The varroa mite weakens colonies of honey bees.").await;
    let texts: Vec<String> = (0..700).map(|number| format!("{number} {}", words(240))).collect();
    let request = ada.request(Method::POST, "/v1/embeddings").json(&with("input", json!(texts)));
    let batch = tokio::spawn(reply(request));
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut times = Vec::new();
    for _ in 0..15 {
        let asked = Instant::now();
        assert_eq!(ada.find("parasites of insects").await.len(), 1);
        times.push(asked.elapsed());
    }
    assert!(!batch.is_finished(), "the batch is large enough to matter");
    times.sort();
    assert!(times[7] < Duration::from_millis(250), "searches while a batch is embedded: {times:?}");
    assert_eq!(vectors(&batch.await.unwrap()).len(), texts.len());
}
