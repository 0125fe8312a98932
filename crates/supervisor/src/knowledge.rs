//! What the knowledge service is asked: passages for agents, and the spaces of a caller. Over HTTP, in the caller's name.

use crate::access::{SpaceRole, SpaceRoles};
use base::token::{Claims, Tokens};
use http::StatusCode;
use kit::headers::IDENTITY;
use kit::identity::Rank;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_PASSAGES: &str = "5";
/// Characters of the question. A seed may be long, and its beginning says what it is about.
const QUESTION_CHARACTERS: usize = 500;
const UNKNOWN_CALLER: &str = "the caller who started the run is unknown to the knowledge service";
/// How long the roles of a caller are believed: a member who was taken out of a space is out within seconds.
const ROLES_LAST: Duration = Duration::from_secs(2);
/// Callers whose roles are kept before those that are too old are dropped.
const MAX_KEPT_ROLES: usize = 1_000;

#[derive(Clone)]
pub struct KnowledgeClient {
    client: reqwest::Client,
    /// Addresses of the service. The next is asked if one does not answer.
    urls: Arc<[String]>,
    tokens: Arc<Tokens>,
    /// By the caller's id.
    roles: Arc<Mutex<HashMap<String, ReadRoles>>>,
}

/// A caller's roles, and when they were read.
type ReadRoles = (Instant, Arc<SpaceRoles>);

#[derive(Clone, Debug)]
pub struct Passage {
    pub title: String,
    pub text: String,
}

/// The parts of the knowledge service's answers that are used here.
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

#[derive(Deserialize)]
struct SpacesAnswer {
    spaces: Vec<Space>,
}

#[derive(Deserialize)]
struct Space {
    id: String,
    /// None for an administrator who is no member.
    role: Option<SpaceRole>,
}

impl KnowledgeClient {
    /// Returns none if there is no address.
    pub fn new(urls: Vec<String>, tokens: Arc<Tokens>) -> Result<Option<Self>, reqwest::Error> {
        if urls.is_empty() {
            return Ok(None);
        }
        let client = reqwest::Client::builder().timeout(TIMEOUT).no_proxy().build()?;
        Ok(Some(Self { client, urls: urls.into(), tokens, roles: Arc::default() }))
    }

    /// Returns passages about a project, or why there are none: from the documents of its space, or else from those of the
    /// caller, given by its claims.
    pub async fn search(
        &self,
        name: &str,
        product_seed: &str,
        space: Option<&str>,
        caller: Option<&str>,
    ) -> Result<Vec<Passage>, String> {
        let claims: Option<Claims> = caller.and_then(|claims| serde_json::from_str(claims).ok());
        let claims = claims.ok_or(UNKNOWN_CALLER)?;
        if Rank::of(&claims) == Rank::Guest {
            return Err("guests have no documents".to_owned());
        }
        let question: String = format!("{name} {product_seed}").chars().take(QUESTION_CHARACTERS).collect();
        let mut query = vec![("query", question.as_str()), ("topK", MAX_PASSAGES)];
        query.extend(space.map(|space| ("spaceId", space)));
        let answer: Option<SearchAnswer> = self.ask(&claims, "/api/search", &query).await?;
        let answer = answer.ok_or(UNKNOWN_CALLER)?;
        let passages = answer.results.into_iter();
        Ok(passages
            .map(|hit| Passage { title: hit.metadata.document_title.unwrap_or_default(), text: hit.text })
            .collect())
    }

    /// Returns the caller's roles in spaces, as they were within the last seconds.
    pub async fn recent_space_roles(&self, claims: &Claims) -> Result<Arc<SpaceRoles>, String> {
        let kept = self.roles().get(&claims.project_id).cloned();
        match kept.filter(|(read_at, _)| read_at.elapsed() < ROLES_LAST) {
            Some((_, roles)) => Ok(roles),
            None => self.space_roles(claims).await,
        }
    }

    /// Returns the caller's roles in spaces. An administrator has one in each space, a caller whom the service does not
    /// know in none.
    pub async fn space_roles(&self, claims: &Claims) -> Result<Arc<SpaceRoles>, String> {
        let now = Instant::now();
        let is_admin = Rank::of(claims) == Rank::Administrator;
        let query: &[(&str, &str)] = if is_admin { &[("all", "true")] } else { &[] };
        let answer: Option<SpacesAnswer> = self.ask(claims, "/api/spaces", query).await?;
        let spaces = answer.map(|answer| answer.spaces).unwrap_or_default().into_iter();
        let role_of = |space: &Space| if is_admin { Some(SpaceRole::Editor) } else { space.role };
        let roles = spaces.filter_map(|space| Some((role_of(&space)?, space.id)));
        let roles: SpaceRoles = roles.map(|(role, id)| (id, role)).collect();
        let roles = Arc::new(roles);
        let mut kept = self.roles();
        if kept.len() >= MAX_KEPT_ROLES {
            kept.retain(|_, (read_at, _)| now.duration_since(*read_at) < ROLES_LAST);
        }
        kept.insert(claims.project_id.clone(), (now, roles.clone()));
        Ok(roles)
    }

    fn roles(&self) -> MutexGuard<'_, HashMap<String, ReadRoles>> {
        self.roles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks each address in turn until one answers. Returns none if the service does not know the caller.
    async fn ask<T: DeserializeOwned>(
        &self,
        claims: &Claims,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Option<T>, String> {
        let identity = self.tokens.issue_identity(claims).map_err(|error| error.to_string())?;
        let mut why = String::new();
        for url in self.urls.iter() {
            let request = self.client.get(format!("{url}{path}")).header(IDENTITY, &identity).query(query);
            let answer = async {
                let response = request.send().await?;
                if response.status() == StatusCode::UNAUTHORIZED {
                    return Ok(None);
                }
                response.error_for_status()?.json().await.map(Some)
            };
            match answer.await {
                Ok(answer) => return Ok(answer),
                Err(error) => why = error.without_url().to_string(),
            }
        }
        Err(format!("the knowledge service does not answer: {why}"))
    }
}
