//! The knowledge service's search as an agent's tool: over HTTP, as whoever started the run.

use base::token::{Claims, Tokens};
use kit::headers::IDENTITY;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
const MOST_PASSAGES: &str = "5";
/// The seed may be long; what it is about stands at its beginning.
const QUESTION_CHARACTERS: usize = 500;

#[derive(Clone)]
pub struct KnowledgeSearch {
    client: reqwest::Client,
    /// One is enough; the next is asked where it does not answer.
    urls: Arc<[String]>,
    tokens: Arc<Tokens>,
}

#[derive(Clone, Debug)]
pub struct Passage {
    pub title: String,
    pub text: String,
}

impl KnowledgeSearch {
    /// None without an address.
    pub fn new(urls: Vec<String>, tokens: Arc<Tokens>) -> Result<Option<Self>, reqwest::Error> {
        if urls.is_empty() {
            return Ok(None);
        }
        let client = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build()?;
        Ok(Some(Self { client, urls: urls.into(), tokens }))
    }

    /// Passages about a project among the documents of `caller`, whose claims these are; or why there are none.
    pub async fn search(
        &self,
        name: &str,
        product_seed: &str,
        caller: Option<&str>,
    ) -> Result<Vec<Passage>, String> {
        let claims: Option<Claims> = caller.and_then(|claims| serde_json::from_str(claims).ok());
        let claims = claims.ok_or("whoever started the run is unknown to the knowledge service")?;
        if !claims.has_scope("admin") {
            return Err("guests have no documents".to_owned());
        }
        let identity = self.tokens.issue_identity(&claims).map_err(|error| error.to_string())?;
        let question: String = format!("{name} {product_seed}").chars().take(QUESTION_CHARACTERS).collect();
        let mut why = String::new();
        for url in self.urls.iter() {
            match self.ask(url, &identity, &question).await {
                Ok(passages) => return Ok(passages),
                Err(error) => why = error.without_url().to_string(),
            }
        }
        Err(format!("the knowledge service does not answer: {why}"))
    }

    async fn ask(&self, url: &str, identity: &str, question: &str) -> Result<Vec<Passage>, reqwest::Error> {
        let request = self.client.get(format!("{url}/api/search")).header(IDENTITY, identity);
        let request = request.query(&[("query", question), ("topK", MOST_PASSAGES)]);
        let answer: Value = request.send().await?.error_for_status()?.json().await?;
        let found = answer["results"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(found
            .map(|hit| Passage { title: text(&hit["metadata"]["documentTitle"]), text: text(&hit["text"]) })
            .collect())
    }
}
