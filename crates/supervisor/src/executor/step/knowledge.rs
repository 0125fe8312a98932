//! Searches the knowledge service for an agent: over HTTP, in the name of the caller who started the run.

use base::token::{Claims, Tokens};
use kit::headers::IDENTITY;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
const MOST_PASSAGES: &str = "5";
/// Characters of the question. A seed may be long, and its beginning says what it is about.
const QUESTION_CHARACTERS: usize = 500;

#[derive(Clone)]
pub struct KnowledgeSearch {
    client: reqwest::Client,
    /// Addresses of the service. The next is asked if one does not answer.
    urls: Arc<[String]>,
    tokens: Arc<Tokens>,
}

#[derive(Clone, Debug)]
pub struct Passage {
    pub title: String,
    pub text: String,
}

/// The parts of the knowledge service's answer that are used here.
#[derive(Deserialize)]
struct SearchAnswer {
    results: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    text: String,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    document_title: Option<String>,
}

impl KnowledgeSearch {
    /// Returns none if there is no address.
    pub fn new(urls: Vec<String>, tokens: Arc<Tokens>) -> Result<Option<Self>, reqwest::Error> {
        if urls.is_empty() {
            return Ok(None);
        }
        let client = reqwest::Client::builder().timeout(TIMEOUT).no_proxy().build()?;
        Ok(Some(Self { client, urls: urls.into(), tokens }))
    }

    /// Returns passages about a project from the documents of a caller, given by its claims; or why there are none.
    pub async fn search(
        &self,
        name: &str,
        product_seed: &str,
        caller: Option<&str>,
    ) -> Result<Vec<Passage>, String> {
        let claims: Option<Claims> = caller.and_then(|claims| serde_json::from_str(claims).ok());
        let claims = claims.ok_or("the caller who started the run is unknown to the knowledge service")?;
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
        let answer: SearchAnswer = request.send().await?.error_for_status()?.json().await?;
        let passages = answer.results.into_iter();
        Ok(passages
            .map(|hit| Passage { title: hit.metadata.document_title.unwrap_or_default(), text: hit.text })
            .collect())
    }
}
