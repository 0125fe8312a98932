//! Stoa's portal: updates, goals, tools, tasks, pages and teams, found by search; and how the other services are.
//!
//! `http` is the front door; `kinds` says what an entry may hold, `shelf` keeps the entries, `search` finds them,
//! `transfer` brings them in and out as a file, `sso` lets people in whom a provider knows. Other services are reached over HTTP only.

mod http;
mod kinds;
mod search;
mod seed;
mod shelf;
mod sso;
mod status;
mod transfer;

pub use shelf::ShelfError;
pub use sso::{SsoSettings, check_provider};
pub use status::Peer;
pub use transfer::Fault;

use base::token::Tokens;
use kit::guests::Guests;
use kit::health::Health;
use kit::serve::{AxumHandler, Door};
use shelf::Shelf;
use sso::Sso;
use status::Status;
use std::sync::Arc;
use std::time::Duration;
use store::Db;
use store::admins::Admins;

const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
const LEADS_PATIENCE: Duration = Duration::from_secs(60);

/// The service's interface, as OpenAPI.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// What the service shares with the rest of the process.
pub struct Shared {
    pub db: Db,
    /// What the gateway signs identities with.
    pub tokens: Arc<Tokens>,
    /// What tokens that come without the gateway are signed with.
    pub portal_tokens: Arc<Tokens>,
    pub admins: Admins,
    pub peers: Vec<Peer>,
    /// Where leads go that come to the portal: one is enough, the next is for when it cannot be reached.
    pub leads: Vec<String>,
    /// Who lets people in besides the gateway.
    pub sso: Option<SsoSettings>,
    pub guests: Guests,
}

#[derive(Clone)]
pub struct Portal(Arc<Inner>);

pub(crate) struct Inner {
    pub shelf: Shelf,
    pub status: Status,
    pub tokens: Arc<Tokens>,
    pub portal_tokens: Arc<Tokens>,
    pub admins: Admins,
    pub client: reqwest::Client,
    pub leads: Vec<String>,
    pub sso: Option<Sso>,
    pub guests: Guests,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    #[error("other services cannot be asked: {0}")]
    Client(#[from] reqwest::Error),
}

impl Portal {
    pub async fn open(shared: Shared) -> Result<Self, OpenError> {
        let Shared { db, tokens, portal_tokens, admins, peers, leads, sso, guests } = shared;
        let sso = sso.map(|settings| Sso::new(settings, db.clone())).transpose()?;
        let shelf = Shelf::new(db);
        shelf.seed(&seed::entries()).await?;
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        let client = client.connect_timeout(CONNECT_PATIENCE).timeout(LEADS_PATIENCE).build()?;
        let status = Status::new(peers)?;
        let inner = Inner { shelf, status, tokens, portal_tokens, admins, client, leads, sso, guests };
        Ok(Self(Arc::new(inner)))
    }

    pub fn handler(&self, health: Health, door: Door) -> AxumHandler {
        http::handler(self.0.clone(), health, door)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error(transparent)]
    Shelf(#[from] ShelfError),
}

/// Brings in a file of entries, all or nothing: how many there were.
pub async fn import(db: Db, text: &str) -> Result<usize, ImportError> {
    let cargo = transfer::read(text)?;
    let number = cargo.entries.len() + cargo.teams.len();
    Shelf::new(db).import(cargo).await?;
    Ok(number)
}

/// All entries, in the form that [`import`] takes: YAML, or JSON.
pub async fn export(db: Db, as_json: bool) -> Result<String, ShelfError> {
    let file = transfer::write(&*Shelf::new(db).now().await?);
    if as_json {
        return Ok(format!("{file:#}\n"));
    }
    serde_saphyr::to_string(&file).map_err(|error| ShelfError::Invalid(error.to_string()))
}
