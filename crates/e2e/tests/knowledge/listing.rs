//! `GET /api/documents` page by page, filtered, while documents come and go.

use e2e::postgres::Postgres;
use e2e::{Form, KnowledgeClient, Reply, Stoa};
use serde_json::{Value, json};

async fn add(user: &KnowledgeClient, filename: &str, metadata: &Value) -> String {
    let form = Form::new().text("metadata", &metadata.to_string()).file(
        "file",
        filename,
        format!("The file {filename} is about pumps.").as_bytes(),
    );
    let answer = user.submit("/api/ingest", form).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["documentId"].as_str().unwrap().to_owned()
}

fn titles(answer: &Reply) -> Vec<String> {
    assert_eq!(answer.status, 200, "{answer:?}");
    let documents = answer.json()["documents"].as_array().unwrap().clone();
    documents.iter().map(|document| document["title"].as_str().unwrap().to_owned()).collect()
}

async fn list(user: &KnowledgeClient, query: &str) -> Vec<String> {
    titles(&user.get(&format!("/api/documents?{query}")).await)
}

/// The query of the next page, which the body and the header agree on.
fn next(answer: &Reply) -> Option<String> {
    let cursor = answer.json()["next"].as_str().map(str::to_owned);
    let link = answer.header("link").first().map(|link| {
        let query = link.strip_prefix("<?").and_then(|link| link.strip_suffix(">; rel=\"next\""));
        query.expect("a link to the next page").to_owned()
    });
    assert_eq!(cursor.is_some(), link.is_some(), "{answer:?}");
    if let (Some(cursor), Some(link)) = (cursor, &link) {
        assert!(link.contains(&format!("after={cursor}")), "{link}");
    }
    link
}

async fn pages_are_stable(stoa: Stoa) {
    let user = KnowledgeClient::admin(&stoa).await;
    let mut ids = Vec::new();
    for number in 0..9 {
        ids.push(add(&user, &format!("{number}.txt"), &json!({})).await);
    }
    let first = user.get("/api/documents?limit=4").await;
    assert_eq!(titles(&first), ["8.txt", "7.txt", "6.txt", "5.txt"]);
    // The last one of the page goes, and one of the next page, and a new one comes.
    for gone in [&ids[5], &ids[3]] {
        assert_eq!(user.delete(&format!("/api/documents/{gone}")).await.status, 200);
    }
    add(&user, "new.txt", &json!({})).await;
    let second = user.get(&format!("/api/documents?{}", next(&first).unwrap())).await;
    assert_eq!(titles(&second), ["4.txt", "2.txt", "1.txt", "0.txt"]);
    assert_eq!(next(&second), None, "nothing is left: {second:?}");
    assert_eq!(second.json()["next"], Value::Null);

    let all = user.get("/api/documents").await;
    assert_eq!(titles(&all).len(), 8);
    assert_eq!((all.json()["next"].clone(), next(&all)), (Value::Null, None));
    let oldest = user.get("/api/documents?sort=oldest&limit=3").await;
    assert_eq!(titles(&oldest), ["0.txt", "1.txt", "2.txt"]);
    assert_eq!(list(&user, &next(&oldest).unwrap()).await, ["4.txt", "6.txt", "7.txt"]);
}

#[tokio::test]
async fn pages_go_on_where_they_ended_on_sqlite() {
    pages_are_stable(Stoa::start_knowledge().serve()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_go_on_where_they_ended_on_postgres() {
    let database = Postgres::shared().await.database().await;
    pages_are_stable(Stoa::start_knowledge().set("DATABASE_URL", &database).serve()).await;
}

async fn titles_and_sizes_sort(stoa: Stoa) {
    let user = KnowledgeClient::admin(&stoa).await;
    for (title, length) in
        [("beta.x", 30), ("Alpha", 10), ("gamma & more?", 20), ("alpha", 40), ("Delta", 20)]
    {
        let metadata = json!({ "title": title }).to_string();
        let text = format!("{title} {}", "pump ".repeat(length));
        let form = Form::new().text("metadata", &metadata).file("file", "a.txt", text.as_bytes());
        assert_eq!(user.submit("/api/ingest", form).await.status, 200);
    }
    for (sort, expected) in [
        ("title", ["Alpha", "alpha", "beta.x", "Delta", "gamma & more?"]),
        ("size", ["alpha", "beta.x", "gamma & more?", "Delta", "Alpha"]),
    ] {
        let all = list(&user, &format!("sort={sort}")).await;
        assert_eq!(all, expected, "{sort}");
        // Page by page, one at a time, the order is the same.
        let (mut query, mut seen) = (format!("sort={sort}&limit=1"), Vec::new());
        loop {
            let page = user.get(&format!("/api/documents?{query}")).await;
            seen.extend(titles(&page));
            match page.header("link").first() {
                Some(link) => query = link.split(['?', '>']).nth(1).unwrap().to_owned(),
                None => break,
            }
        }
        assert_eq!(seen, all, "{sort}");
    }
}

#[tokio::test]
async fn lists_are_sorted_by_title_and_size_on_sqlite() {
    titles_and_sizes_sort(Stoa::start_knowledge().serve()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_sorted_by_title_and_size_on_postgres() {
    let database = Postgres::shared().await.database().await;
    titles_and_sizes_sort(Stoa::start_knowledge().set("DATABASE_URL", &database).serve()).await;
}

#[tokio::test]
async fn filters_pick_documents_and_counts_are_of_all() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let ada = admin.invite(&stoa, "ada").await;
    for (filename, metadata) in [
        ("a.txt", json!({ "title": "Über die Pumpe", "category": "Manual", "tags": "pump, Cooling" })),
        ("b.txt", json!({ "title": "Pump 100% \\_x", "category": "manual" })),
        ("c.txt", json!({ "title": "Bees", "tags": "pump" })),
    ] {
        add(&ada, filename, &metadata).await;
    }
    assert_eq!(ada.ingest("broken.pdf", b"%PDF-").await.status, 400);
    let shown = ada.get("/api/documents?status=error").await;
    assert_eq!(titles(&shown), ["broken.pdf"]);
    assert_eq!(shown.json()["counts"], json!({ "processing": 0, "indexed": 3, "error": 1 }));
    for (query, expected) in [
        ("status=indexed", vec!["Bees", "Pump 100% \\_x", "Über die Pumpe"]),
        ("status=processing", vec![]),
        ("category=MANUAL", vec!["Pump 100% \\_x", "Über die Pumpe"]),
        ("tags=pump", vec!["Bees", "Über die Pumpe"]),
        ("tags=cooling,pump", vec!["Über die Pumpe"]),
        ("title=%C3%BCBER", vec!["Über die Pumpe"]),
        ("title=pump", vec!["Pump 100% \\_x", "Über die Pumpe"]),
        ("title=100%25", vec!["Pump 100% \\_x"]),
        ("title=%25", vec!["Pump 100% \\_x"]),
        ("title=C.TXT", vec!["Bees"]),
        ("title=pump&category=manual&tags=cooling&status=indexed", vec!["Über die Pumpe"]),
        ("title=", vec!["broken.pdf", "Bees", "Pump 100% \\_x", "Über die Pumpe"]),
    ] {
        assert_eq!(list(&ada, query).await, expected, "{query}");
    }
    // A page of what a filter lets through goes on with the filter.
    let page = ada.get("/api/documents?title=pump&limit=1").await;
    assert_eq!(list(&ada, &next(&page).unwrap()).await, ["Über die Pumpe"]);
    for (query, fault) in [
        ("limit=0", "`limit` is `0`: expected 1 to 1000"),
        ("limit=1001", "`limit` is `1001`: expected 1 to 1000"),
        ("status=done", "unknown `status` `done`: one of processing, indexed, error"),
        ("sort=name", "unknown `sort` `name`: one of newest, oldest, title, size"),
        ("sort=title&after=5.x", "`after` is of a list with another `sort`: begin again without it"),
        ("after=size.5.x", "`after` is of a list with another `sort`: begin again without it"),
        ("after=nothing", "`after` is `nothing`: expected the `next` of a page"),
    ] {
        let refused = ada.get(&format!("/api/documents?{query}")).await;
        assert_eq!(refused.status, 400, "{query}: {refused:?}");
        assert_eq!(refused.json()["error"], fault);
    }
    // Another user's pages are their own, whoever's cursor they begin at.
    let cursor = ada.get("/api/documents?limit=1").await.json()["next"].as_str().unwrap().to_owned();
    let theirs = admin.get(&format!("/api/documents?after={cursor}")).await;
    assert_eq!(titles(&theirs), Vec::<String>::new());
    assert_eq!(theirs.json()["counts"], json!({ "processing": 0, "indexed": 0, "error": 0 }));
    assert_eq!(list(&admin, &format!("userId={}&status=error", ada.id)).await, ["broken.pdf"]);
}
