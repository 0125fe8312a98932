//! Without the models, with other ones, and when they come back.

use e2e::stoa::models_dir;
use e2e::{Form, KnowledgeClient, Stoa, get};
use serde_json::json;

#[tokio::test]
async fn without_models_it_starts_and_says_what_is_missing() {
    let stoa = Stoa::start_knowledge().set("STOA_MODELS_DIR", "/nowhere").serve();
    let ready = get(format!("http://{}/readyz", stoa.knowledge.unwrap())).await;
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("stoa models pull"), "{ready:?}");
    let admin = KnowledgeClient::admin(&stoa).await;
    let form = Form::new().file("file", "a.txt", b"The pump circulates coolant.");
    for answer in [
        admin.submit("/api/ingest", form).await,
        admin.get("/api/search?query=x&mode=dense").await,
        admin.post("/api/documents/reindex").await,
    ] {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.json()["error"].as_str().unwrap().contains("stoa models pull"), "{answer:?}");
    }
    assert_eq!(admin.get("/api/search?query=x").await.status, 200);
    assert!(admin.documents().await.is_empty());
}

#[tokio::test]
async fn documents_are_found_by_their_words_while_the_model_is_gone() {
    let first = Stoa::start_knowledge().serve();
    KnowledgeClient::admin(&first).await.ingest_text("a.txt", "The pump circulates coolant.").await;
    let data = first.data.clone();
    drop(first);
    let second = Stoa::start_knowledge().data(&data).set("STOA_MODELS_DIR", "/nowhere").serve();
    let admin = KnowledgeClient::admin(&second).await;
    let answer = admin.get("/api/search?query=coolant").await.json();
    assert_eq!(answer["results"].as_array().unwrap().len(), 1);
    assert!(answer["notice"].as_str().unwrap().contains("stoa models pull"), "{answer}");
}

#[tokio::test]
async fn vectors_of_another_encoder_are_never_compared_and_a_reindex_mends_it() {
    let first = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&first).await;
    let id = admin.ingest_text("a.txt", "The varroa mite weakens colonies of honey bees.").await;
    let data = first.data.clone();
    drop(first);

    // Another model: the same but for the last bit of its last weight.
    let other = tempfile::tempdir().unwrap();
    let (from, to) = (models_dir().join("all-minilm-l6-v2"), other.path().join("all-minilm-l6-v2"));
    std::fs::create_dir(&to).unwrap();
    for name in ["tokenizer.json", "config.json"] {
        std::os::unix::fs::symlink(from.join(name), to.join(name)).unwrap();
    }
    let mut weights = std::fs::read(from.join("model.safetensors")).unwrap();
    let last = weights.len() - 4;
    weights[last] ^= 1;
    std::fs::write(to.join("model.safetensors"), weights).unwrap();

    let second = Stoa::start_knowledge().data(&data).set("STOA_MODELS_DIR", other.path().display()).serve();
    let admin = KnowledgeClient::admin(&second).await;
    let dense = admin.get("/api/search?query=parasites+of+insects&mode=dense").await.json();
    assert_eq!((&dense["results"], &dense["reindexDue"]), (&json!([]), &json!(1)), "{dense}");
    assert!(dense["notice"].as_str().unwrap().contains("/api/documents/reindex"), "{dense}");
    let words = admin.get("/api/search?query=varroa").await.json();
    assert_eq!(words["results"][0]["documentId"], json!(id));

    assert_eq!(admin.post("/api/documents/reindex").await.json()["documentsReindexed"], 1);
    let dense = admin.get("/api/search?query=parasites+of+insects&mode=dense").await.json();
    assert_eq!(
        (&dense["results"][0]["documentId"], &dense["reindexDue"]),
        (&json!(id), &json!(null)),
        "{dense}"
    );
}
