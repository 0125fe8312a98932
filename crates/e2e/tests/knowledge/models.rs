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
    let models = admin.get("/api/models").await.json();
    assert_eq!(models["pull"], "stoa models pull");
    let files = models["models"].as_array().unwrap();
    assert_eq!(files.len(), 4, "{models}");
    for file in files {
        assert_eq!(
            (&file["present"], &file["loaded"], &file["size"]),
            (&json!(false), &json!(false), &json!(null))
        );
        assert!(file["file"].as_str().unwrap().starts_with("/nowhere/"), "{file}");
    }
    let embedded = admin.get("/api/providers").await.json()["providers"][0].clone();
    assert_eq!((&embedded["name"], &embedded["configured"]), (&json!("edge-ai"), &json!(false)));
    assert!(admin.documents().await.is_empty());
}

#[tokio::test]
async fn a_chat_can_choose_among_providers_and_kinds_of_answers() {
    let start = Stoa::start_knowledge().set("VENDOR_B_API_KEY", "sk-test-0123456789");
    let stoa = start.set("CHAT_PROVIDER", "vendor-b").serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    let choices = ada.get("/api/providers").await.json();
    assert_eq!(choices["default"], "vendor-b");
    let providers = choices["providers"].as_array().unwrap();
    let configured: Vec<bool> = providers.iter().map(|one| one["configured"].as_bool().unwrap()).collect();
    assert_eq!(configured, [true, false, true, false]);
    assert!(providers[0]["model"].as_str().unwrap().contains("SmolLM2"), "{choices}");
    assert_eq!(providers[1]["model"], json!(null));
    let agents = choices["agentTypes"].as_array().unwrap();
    assert_eq!((agents.len(), &agents[0]["name"]), (7, &json!("rag-chat")));
    assert!(!choices.to_string().contains("sk-test"), "{choices}");

    assert_eq!(ada.get("/api/models").await.status, 403);
    let models = admin.get("/api/models").await.json();
    for file in models["models"].as_array().unwrap() {
        assert_eq!((&file["present"], &file["loaded"]), (&json!(true), &json!(true)), "{file}");
        assert_eq!(file["size"], file["expectedSize"]);
    }
    assert_eq!(models["providers"], choices["providers"]);
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
