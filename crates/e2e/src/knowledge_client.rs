//! A client of the knowledge service with a session of its own.

use crate::{Reply, Stoa, reply};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

pub struct KnowledgeClient {
    client: reqwest::Client,
    base: String,
    pub token: String,
    pub id: String,
    pub username: String,
}

/// What a caller sends as `password`.
pub fn login_digest(name: &str, password: &str) -> String {
    let hash = Sha256::digest(format!("{name}{password}"));
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl KnowledgeClient {
    pub async fn sign_in(stoa: &Stoa, username: &str, password: &str) -> Self {
        let client = reqwest::Client::new();
        let base = format!("http://{}", stoa.knowledge.expect("the knowledge service runs"));
        let body = json!({ "username": username, "password": login_digest(username, password) });
        let answer = reply(client.post(format!("{base}/api/auth/login")).json(&body)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let user = &answer.json()["user"];
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        Self {
            client,
            base,
            token: text(&answer.json()["token"]),
            id: text(&user["id"]),
            username: username.to_owned(),
        }
    }

    pub async fn admin(stoa: &Stoa) -> Self {
        Self::sign_in(stoa, "admin", "password").await
    }

    /// Somebody new, who signs in.
    pub async fn invite(&self, stoa: &Stoa, name: &str) -> Self {
        let email = format!("{name}@example.org");
        let form = Form::new().text("name", name).text("email", &email).text("password", "correct horse");
        let answer = self.submit("/api/signup", form).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        Self::sign_in(stoa, &email, "correct horse").await
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base)).header("x-api-key", &self.token)
    }

    pub async fn get(&self, path: &str) -> Reply {
        reply(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str) -> Reply {
        reply(self.request(Method::POST, path)).await
    }

    pub async fn post_json(&self, path: &str, body: &Value) -> Reply {
        reply(self.request(Method::POST, path).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        reply(self.request(Method::DELETE, path)).await
    }

    pub async fn submit(&self, path: &str, form: Form) -> Reply {
        reply(form.into_request(self.request(Method::POST, path))).await
    }

    pub async fn ingest(&self, filename: &str, bytes: &[u8]) -> Reply {
        self.submit("/api/ingest", Form::new().file("file", filename, bytes)).await
    }

    /// Ingests a text that must succeed: its document's id.
    pub async fn ingest_text(&self, filename: &str, text: &str) -> String {
        let answer = self.ingest(filename, text.as_bytes()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["documentId"].as_str().expect("an id").to_owned()
    }

    pub async fn documents(&self) -> Vec<Value> {
        self.get("/api/documents").await.json()["documents"].as_array().expect("a list").clone()
    }

    /// The ids of the documents found.
    pub async fn find(&self, query: &str) -> Vec<String> {
        let query = query.replace(' ', "+");
        let answer = self.get(&format!("/api/search?query={query}&topK=100")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let results = answer.json()["results"].as_array().expect("a list").clone();
        results.iter().map(|result| result["documentId"].as_str().expect("an id").to_owned()).collect()
    }

    /// Waits until none of the documents is in work.
    pub async fn settled(&self, patience: Duration) -> Vec<Value> {
        let deadline = Instant::now() + patience;
        loop {
            let documents = self.documents().await;
            if documents.iter().all(|document| document["status"] != "processing") {
                return documents;
            }
            assert!(Instant::now() < deadline, "still in work: {documents:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// A multipart form, written byte by byte.
#[derive(Default)]
pub struct Form {
    body: Vec<u8>,
}

const BOUNDARY: &str = "----a-boundary-for-tests";

impl Form {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn text(mut self, name: &str, value: &str) -> Self {
        let head = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n");
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend_from_slice(value.as_bytes());
        self.body.extend_from_slice(b"\r\n");
        self
    }

    pub fn file(mut self, name: &str, filename: &str, bytes: &[u8]) -> Self {
        let head = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"{filename}\"\r\n\
             content-type: application/octet-stream\r\n\r\n"
        );
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend_from_slice(bytes);
        self.body.extend_from_slice(b"\r\n");
        self
    }

    pub fn into_request(mut self, request: RequestBuilder) -> RequestBuilder {
        self.body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        request.header("content-type", kind).body(self.body)
    }
}
