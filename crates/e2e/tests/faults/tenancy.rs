//! Every endpoint of the OpenAPI documents, asked by those who may not: another user who knows every id, and a caller
//! without a credential. A new endpoint or parameter without a row here fails.

mod operations;

use e2e::{Form, KnowledgeClient, Stoa};
use operations::{Operation, operations};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use std::time::Duration;

/// What is Ada's, and must never be in an answer to Eve.
struct Victim {
    client: KnowledgeClient,
    document: String,
    conversation: String,
    node: String,
    passage: String,
    /// A space of hers, with a document.
    space: String,
    space_document: String,
    source: String,
    /// A session of hers.
    session: String,
    /// A link that an administrator has made for her.
    link: String,
    secrets: Vec<String>,
}

impl Victim {
    async fn of(client: KnowledgeClient, admin: &KnowledgeClient) -> Self {
        let session = client.get("/api/auth/sessions").await.json()["sessions"][0]["id"].clone();
        let made = admin.post_json("/api/links", &json!({ "userId": client.id })).await;
        assert_eq!(made.status, 201, "{made:?}");
        let (link, token) = (made.json()["link"]["id"].clone(), made.json()["token"].clone());
        let [session, link, token] = [session, link, token].map(|id| id.as_str().unwrap().to_owned());
        let document = client
            .ingest_text(
                "vault-plan.txt",
                "The code of the vault at Acme Industries in Rotterdam is xylophone.",
            )
            .await;
        let conversation = client.post("/api/conversations").await.json()["id"].as_str().unwrap().to_owned();
        let question = json!({ "query": "What is the code of the vault, xylophone?" });
        let asked = client.post_json(&format!("/api/conversations/{conversation}/messages"), &question).await;
        assert_eq!(asked.status, 202, "{asked:?}");
        let made = client.post_json("/api/spaces", &json!({ "name": "Board of Northwind" })).await.json();
        let space = made["space"]["id"].as_str().unwrap().to_owned();
        let text = "The takeover of Contoso Shipping is called operation bassoon.";
        let form = Form::new().text("spaceId", &space).file("file", "takeover.txt", text.as_bytes());
        let added = client.submit("/api/ingest", form).await.json();
        let space_document = added["documentId"].as_str().unwrap().to_owned();
        let bucket = json!({ "name": "Strongroom", "secret": "piccolo", "settings":
            { "kind": "s3", "bucket": "strongroom", "endpoint": "https://s3.invalid", "accessKeyId": "viola" } });
        let made = client.post_json("/api/sources", &bucket).await.json();
        let source = made["source"]["id"].as_str().unwrap().to_owned();
        let graph = client.get(&format!("/api/graph?spaceId={}", client.id)).await.json();
        let node = graph["nodes"][0]["id"].as_str().unwrap().to_owned();
        let found = client.get("/api/search?query=xylophone").await.json();
        let passage = found["results"][0]["id"].as_str().unwrap().to_owned();
        let secrets =
            ["xylophone", "vault-plan", "Rotterdam", "Acme Industries", &client.id, &client.username]
                .into_iter()
                .chain([document.as_str(), conversation.as_str(), passage.as_str()])
                .chain(["bassoon", "takeover", "Contoso", "Northwind", &space, &space_document])
                .chain(["Strongroom", "strongroom", "piccolo", "viola", &source])
                .chain([session.as_str(), &link, &token])
                .map(str::to_owned)
                .collect();
        Self {
            client,
            document,
            conversation,
            node,
            passage,
            space,
            space_document,
            source,
            session,
            link,
            secrets,
        }
    }

    /// Returns her ids for a parameter in a path.
    fn path_values(&self, path: &str, name: &str) -> Vec<&str> {
        match (path, name) {
            (path, "id") if path.starts_with("/api/documents/") => vec![&self.document, &self.space_document],
            ("/api/documents/{id}/versions/{version}/restore", "version") => vec!["1"],
            (path, "id") if path.starts_with("/api/sources/") => vec![&self.source],
            // Connections are an administrator's.
            (path, "id") if path.starts_with("/api/connections/") => vec!["vendor-a"],
            (path, "id") if path.starts_with("/api/spaces/") => vec![&self.space],
            ("/api/spaces/{id}/members/{user}", "user") => vec![&self.client.id],
            (path, "id") if path.starts_with("/api/conversations/") => vec![&self.conversation],
            ("/api/conversations/{id}/files/{file}", "file") => vec![&self.document, &self.space_document],
            (path, "id") if path.starts_with("/api/graph/nodes/") => vec![&self.node],
            (path, "id") if path.starts_with("/api/users/") => vec![&self.client.id],
            ("/api/users/{id}/sessions/{session}", "session") => vec![&self.session],
            ("/api/auth/sessions/{id}", "id") => vec![&self.session],
            ("/api/links/{id}", "id") => vec![&self.link],
            ("/v1/models/{id}", "id") => vec!["stoa/stoa-small"],
            _ => panic!("{path} has a new parameter `{name}`: say here which ids another user would guess"),
        }
    }

    /// Returns what Eve tries for a parameter of the query; nothing for those that name no data.
    fn query_values(&self, path: &str, name: &str) -> Vec<String> {
        match name {
            "userId" => vec![self.client.id.clone()],
            "spaceId" => vec![self.space.clone(), self.client.id.clone()],
            "documentId" | "documentIds" => vec![self.document.clone(), self.space_document.clone()],
            "sources" => vec![self.passage.clone()],
            "around" => vec![self.node.clone(), "Acme Industries".to_owned()],
            "after" | "before" | "projectId" => {
                vec![self.document.clone(), self.conversation.clone(), self.client.id.clone()]
            }
            "query" | "q" | "title" | "category" | "tags" => vec!["xylophone".to_owned()],
            "limit" | "topK" | "mode" | "rerank" | "status" | "sort" | "lastEventId" | "all"
            | "documents" | "version" | "from" | "to" => Vec::new(),
            "by" => ["user", "space", "project", "model"].map(str::to_owned).into(),
            "program" => vec!["true".to_owned()],
            _ => panic!("{path} has a new parameter `{name}`: say here what another user would try"),
        }
    }

    /// Returns the bodies that Eve sends.
    fn bodies(&self, path: &str) -> Vec<Value> {
        let (user, document) = (&self.client.id, &self.document);
        let (conversation, question) = (&self.conversation, "What is the code of the vault?");
        let space = &self.space;
        match path {
            "/api/auth/login" => {
                vec![json!({ "username": self.client.username, "password": "0".repeat(64) })]
            }
            "/api/auth/password" => {
                vec![json!({ "currentPassword": "wrong wrong", "newPassword": "correct horse" })]
            }
            "/api/auth/me" => vec![json!({ "name": "Eve", "id": user, "userId": user })],
            // Eve knows the ids of sessions and links, and not their tokens.
            "/api/auth/link" => vec![json!({ "token": self.link }), json!({ "token": "f".repeat(64) })],
            "/api/auth/link/accept" => {
                vec![
                    json!({ "token": self.link, "password": "taken over", "name": "Eve", "email": "e@e.org" }),
                ]
            }
            "/api/links" => vec![json!({ "userId": user }), json!({ "name": "Mallory" })],
            "/api/chat" => vec![
                json!({ "query": question }),
                json!({ "query": question, "documentIds": [document] }),
                json!({ "query": question, "documentIds": [self.space_document] }),
                json!({ "query": question, "spaceIds": [space] }),
                json!({ "query": question, "userId": user }),
                json!({ "query": question, "conversationId": conversation }),
            ],
            "/api/conversations" => vec![json!({ "title": "Mine" })],
            "/api/conversations/{id}" => vec![json!({ "title": "Taken" })],
            "/api/documents/{id}" => vec![json!({ "expiresAt": 1 })],
            "/api/documents/{id}/move" | "/api/documents/{id}/copy" => {
                vec![json!({}), json!({ "spaceId": space }), json!({ "userId": user })]
            }
            "/api/sources" => {
                let settings = json!({ "kind": "web", "addresses": ["https://example.invalid/"] });
                vec![
                    json!({ "name": "Mine", "settings": settings }),
                    json!({ "name": "Planted", "settings": settings, "spaceId": space }),
                    json!({ "name": "Files", "settings": { "kind": "folder", "path": "/etc" } }),
                ]
            }
            "/api/connections" => {
                vec![json!({ "name": "Eve's", "kind": "openai", "baseUrl": "http://127.0.0.1:1/v1" })]
            }
            "/api/connections/{id}" => vec![json!({ "baseUrl": "http://127.0.0.1:1/v1" })],
            "/api/connections/{id}/test" => vec![json!({ "model": "any" })],
            "/api/models/defaults" => vec![json!({ "chat": { "connection": "edge-ai" }, "agents": null })],
            "/api/usage/prices" => vec![json!({ "currency": "USD", "prices": [] })],
            "/api/usage/budgets" => vec![json!({ "budgets": [{ "kind": "user", "id": user, "tokens": 0 }] })],
            "/api/sources/{id}" => vec![json!({ "paused": true, "secret": null })],
            "/api/spaces" => vec![json!({ "name": "Mine" })],
            "/api/spaces/{id}" => vec![json!({ "name": "Taken", "everyone": "editor" })],
            "/api/spaces/{id}/members" => vec![json!({ "user": "eve@example.org", "role": "editor" })],
            "/api/conversations/{id}/messages" => vec![json!({ "query": question })],
            "/api/users/{id}" => vec![json!({ "name": "Taken" })],
            "/api/users/{id}/password" => vec![json!({ "password": "taken over" })],
            "/mcp" => ["search", "ask", "list_documents", "graph_neighbors"]
                .into_iter()
                .flat_map(|tool| {
                    let scopes =
                        [json!({}), json!({ "documentIds": [document] }), json!({ "spaceId": space })];
                    scopes.map(|mut arguments| {
                        arguments["query"] = json!(question);
                        arguments["question"] = json!(question);
                        arguments["node"] = json!("Acme Industries");
                        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                            "params": { "name": tool, "arguments": arguments } })
                    })
                })
                .collect(),
            "/v1/chat/completions" => {
                vec![
                    json!({ "model": "stoa/stoa-small", "messages": [{ "role": "user", "content": question }] }),
                ]
            }
            "/v1/responses" => vec![json!({ "model": "stoa/stoa-small", "input": question })],
            "/v1/embeddings" => vec![json!({ "model": "all-MiniLM-L6-v2", "input": "xylophone" })],
            _ => panic!("{path} takes a body: say here what another user would send"),
        }
    }

    /// Returns all requests that Eve makes to an operation, without her credential.
    fn requests(&self, base: &str, operation: &Operation) -> Vec<RequestBuilder> {
        let Operation { path, parameters, .. } = operation;
        let of = |place: &'static str| {
            parameters.iter().filter(move |(_, one)| one == place).map(|(name, _)| name)
        };
        let mut addresses = vec![path.clone()];
        for name in of("path") {
            let place = format!("{{{name}}}");
            let values = self.path_values(path, name);
            addresses = addresses
                .iter()
                .flat_map(|address| values.iter().map(|value| address.replace(&place, value)))
                .collect();
        }
        let mut queries: Vec<Vec<(String, String)>> = vec![Vec::new()];
        for name in of("query") {
            let values = self.query_values(path, name).into_iter();
            queries.extend(values.map(|value| vec![(name.clone(), value)]));
        }
        if of("query").any(|name| name == "query") {
            queries
                .iter_mut()
                .for_each(|query| query.push(("query".into(), "xylophone code of the vault".into())));
        }
        addresses
            .iter()
            .flat_map(|address| self.requests_to(&format!("{base}{address}"), operation, &queries))
            .collect()
    }

    /// Returns the requests to one address.
    fn requests_to(
        &self,
        address: &str,
        operation: &Operation,
        queries: &[Vec<(String, String)>],
    ) -> Vec<RequestBuilder> {
        let Operation { method, path, body, .. } = operation;
        let make = |query: &Vec<(String, String)>| {
            let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
            Client::new().request(method.clone(), format!("{address}?{text}"))
        };
        match body.as_deref() {
            None => queries.iter().map(make).collect(),
            Some("multipart/form-data") => {
                let form = Form::new().text("userId", &self.client.id).text("email", "eve2@example.org");
                let form = form.text("name", "eve2").text("password", "correct horse");
                let into_space = Form::new().text("spaceId", &self.space).text("email", "eve3@example.org");
                [form, into_space]
                    .map(|form| form.file("file", "planted.txt", b"Planted by another user."))
                    .map(|form| form.into_request(make(&queries[0])))
                    .into()
            }
            Some(_) => self.bodies(path).iter().map(|body| make(&queries[0]).json(body)).collect(),
        }
    }

    /// Returns what of hers is in an answer, beside what Eve has sent herself.
    fn leak(&self, request: &RequestBuilder, body: &str) -> Option<&str> {
        let request = request.try_clone().unwrap().build().unwrap();
        let sent = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
        let sent = format!("{} {}", request.url(), String::from_utf8_lossy(sent)).replace('+', " ");
        let leaked = |secret: &&String| body.contains(secret.as_str()) && !sent.contains(secret.as_str());
        self.secrets.iter().find(leaked).map(String::as_str)
    }
}

/// Sends a request. Streams are read for a while.
async fn answer(request: RequestBuilder) -> (u16, String) {
    let mut response = request.send().await.expect("an answer");
    let (status, mut body) = (response.status().as_u16(), Vec::new());
    let reading = async {
        while let Ok(Some(piece)) = response.chunk().await {
            body.extend_from_slice(&piece);
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(3), reading).await;
    (status, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_who_knows_every_id_sees_and_changes_nothing() {
    let stoa = Stoa::start_knowledge()
        .set("CHAT_REQUESTS_PER_MINUTE", 1000)
        .set("USERS_CREATE_SPACES", "true")
        .serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let victim = Victim::of(admin.invite(&stoa, "ada").await, &admin).await;
    let eve = admin.invite(&stoa, "eve").await;
    let base = format!("http://{}", stoa.knowledge.unwrap());
    let state = async || {
        let space = format!("/api/spaces/{}", victim.space);
        let space =
            [victim.client.get(&space).await.body, victim.client.get(&format!("{space}/members")).await.body];
        let source = victim.client.get(&format!("/api/sources/{}", victim.source)).await.json();
        let source = [source["paused"].clone(), source["hasSecret"].clone()];
        let conversation = victim.client.get(&format!("/api/conversations/{}", victim.conversation)).await;
        (victim.client.documents().await, conversation.json()["messages"].clone(), space, source)
    };
    // Her answer is still being written.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = state().await;
    let (mut asked, mut seen) = (0, Vec::new());
    for operation in operations("knowledge").iter().filter(|one| one.path != "/api/auth/logout") {
        for request in victim.requests(&base, operation) {
            let named = request.try_clone().unwrap().build().unwrap().url().to_string();
            let request = request
                .header("x-api-key", &eve.token)
                .header("accept", "application/json, text/event-stream");
            let copy = request.try_clone().unwrap();
            let (status, body) = answer(request).await;
            assert!(status < 500, "{} {named}: {status} {body}", operation.method);
            if let Some(secret) = victim.leak(&copy, &body) {
                seen.push(format!("{} {named}: {status} has `{secret}`: {body}", operation.method));
            }
            asked += 1;
        }
    }
    assert!(seen.is_empty(), "{seen:#?}");
    assert!(asked > 60, "only {asked} requests");
    assert_eq!(state().await, before, "nothing of hers has changed");
    assert_eq!(victim.client.get("/api/auth/me").await.status, 200, "nor her session");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_credential_nothing_but_public_endpoints_answers() {
    let stoa = Stoa::start_bare()
        .with_models()
        .set("ADMIN_PASSWORD", "password")
        .set("USERS_CREATE_SPACES", "true")
        .serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let victim = Victim::of(admin.invite(&stoa, "ada").await, &admin).await;
    let services = [
        ("knowledge", stoa.knowledge),
        ("portal", stoa.portal),
        ("leads", stoa.leads),
        // The supervisor trusts its own machine; from elsewhere it is reached through the gateway.
        ("supervisor", Some(stoa.gateway)),
    ];
    for (service, address) in services {
        let prefix = if service == "supervisor" { "/build" } else { "" };
        let base = format!("http://{}{prefix}", address.unwrap());
        for operation in operations(service).iter().filter(|one| !one.is_public) {
            let path = operation
                .path
                .replace("{id}", &victim.document)
                .replace("{name}", &victim.document)
                .replace("{user}", &victim.client.id)
                .replace("{session}", &victim.session);
            let request = Client::new().request(operation.method.clone(), format!("{base}{path}"));
            let request = if operation.body.is_some() { request.json(&json!({})) } else { request };
            let (status, body) = answer(request).await;
            if body.contains("SSO_NOT_CONFIGURED") {
                continue;
            }
            assert_eq!(status, 401, "{service}: {} {path}: {body}", operation.method);
        }
    }
}
