//! Questions and their answers.

use e2e::{Form, KnowledgeClient, Stoa};
use serde_json::Value;

async fn library(stoa: &Stoa) -> KnowledgeClient {
    let admin = KnowledgeClient::admin(stoa).await;
    for (filename, metadata, text) in [
        (
            "pump.txt",
            r#"{"category": "manual", "tags": "pump, coolant"}"#,
            "The pump P-204 circulates coolant.",
        ),
        (
            "bees.txt",
            r#"{"category": "nature", "tags": "bees"}"#,
            "The varroa mite weakens colonies of honey bees.",
        ),
        ("loan.txt", r#"{"category": "finance"}"#, "The bank grants a mortgage at a fixed rate of interest."),
        ("wind.txt", r#"{"tags": "Pump"}"#, "Wind turbines turn moving air into electricity."),
    ] {
        let form = Form::new().text("metadata", metadata).file("file", filename, text.as_bytes());
        assert_eq!(admin.submit("/api/ingest", form).await.status, 200);
    }
    admin
}

async fn titles(user: &KnowledgeClient, query: &str) -> Vec<String> {
    let answer = user.get(&format!("/api/search?{query}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let results = answer.json()["results"].as_array().unwrap().clone();
    let scores: Vec<f64> = results.iter().map(|result| result["score"].as_f64().unwrap()).collect();
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    let title = |result: &Value| result["metadata"]["documentTitle"].as_str().unwrap().to_owned();
    results.iter().map(title).collect()
}

#[tokio::test]
async fn meaning_words_and_both_find_what_is_meant() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = library(&stoa).await;
    assert_eq!(titles(&admin, "query=parasites+of+insects&mode=dense").await[0], "bees.txt");
    assert_eq!(titles(&admin, "query=P-204&mode=lexical").await, ["pump.txt"]);
    assert!(titles(&admin, "query=zyzzyva&mode=lexical").await.is_empty());
    for mode in ["hybrid", "graph"] {
        let found = titles(&admin, &format!("query=borrowing+money+for+a+house&mode={mode}")).await;
        assert_eq!(found[0], "loan.txt", "{mode}");
    }
    assert_eq!(titles(&admin, "query=renewable+energy").await[0], "wind.txt");
    assert_eq!(titles(&admin, "query=renewable+energy&topK=1").await, ["wind.txt"]);
}

#[tokio::test]
async fn filters_narrow_before_the_ranking() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = library(&stoa).await;
    assert_eq!(titles(&admin, "query=bees&category=manual").await, ["pump.txt"]);
    assert_eq!(titles(&admin, "query=bees&tags=coolant,pump").await, ["pump.txt"]);
    let mut pump = titles(&admin, "query=bees&tags=pump").await;
    pump.sort();
    assert_eq!(pump, ["pump.txt", "wind.txt"]);
    assert!(titles(&admin, "query=bees&category=none").await.is_empty());
    let id = admin.documents().await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(titles(&admin, &format!("query=bees&documentId={id}")).await, ["wind.txt"]);
    assert!(titles(&admin, "query=bees&documentId=nothing").await.is_empty());
}

#[tokio::test]
async fn wrong_questions_say_what_would_be_right() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    for (query, part) in [
        ("", "query"),
        ("query=", "query"),
        ("query=%20", "query"),
        ("query=%00", "NUL"),
        ("query=x&topK=0", "1 to 100"),
        ("query=x&topK=101", "1 to 100"),
        ("query=x&topK=-1", "1 to 100"),
        ("query=x&topK=2.5", "1 to 100"),
        ("query=x&topK=many", "1 to 100"),
        ("query=x&topK=", "1 to 100"),
        ("query=x&mode=magic", "dense, lexical, hybrid, graph"),
    ] {
        let answer = admin.get(&format!("/api/search?{query}")).await;
        assert_eq!(answer.status, 400, "{query}: {answer:?}");
        assert!(answer.json()["error"].as_str().unwrap().contains(part), "{query}: {answer:?}");
    }
    // Odd ones are questions all the same.
    for query in ["query=%F0%9F%90%9D", "query=%22%27%29%3B--", "query=the+of+a"] {
        let answer = admin.get(&format!("/api/search?{query}")).await;
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
        assert_eq!(answer.json()["results"].as_array().unwrap().len(), 0);
    }
    let long = "word+".repeat(4_000);
    assert_eq!(admin.get(&format!("/api/search?query={long}")).await.status, 200);
}

#[tokio::test]
async fn two_hops_are_reached_through_names() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    for (title, text) in [
        (
            "Silent Harbour",
            "Silent Harbour is a 1987 film directed by Ingrid Vestergaard about a lighthouse keeper.",
        ),
        (
            "Ingrid Vestergaard",
            "Ingrid Vestergaard was a Danish director. She was born in Aalborg and died in 2003.",
        ),
        (
            "Golden Field",
            "Golden Field is a 1991 film directed by Marco Bellini about a farmer and his sons.",
        ),
        ("Marco Bellini", "Marco Bellini is an Italian director from Parma who made four films."),
        ("Film schools", "A film school teaches directing, editing and writing for the screen."),
        ("Lighthouses", "A lighthouse guides ships into a harbour at night."),
    ] {
        let form = Form::new().text("metadata", &format!(r#"{{"title": "{title}"}}"#)).file(
            "file",
            "a.txt",
            text.as_bytes(),
        );
        assert_eq!(admin.submit("/api/ingest", form).await.status, 200);
    }
    let question = "query=Where+was+the+director+of+Silent+Harbour+born%3F&topK=2";
    let mut found = titles(&admin, question).await;
    found.sort();
    assert_eq!(found, ["Ingrid Vestergaard", "Silent Harbour"]);
}
