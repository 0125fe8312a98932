//! Stoa's portal: updates, goals, tools, tasks, pages and teams, found by search; and how the other services are.
//!
//! `http` has the routes. `records` says what an entry is and `merge` makes one from a request; `cache` keeps the entries,
//! `search` finds them, `transfer` reads and writes them as a file. `sso` signs users in by an OpenID Connect provider. Other
//! services are reached over HTTP only.

mod cache;
mod entry;
mod fields;
mod http;
mod merge;
mod projects;
mod records;
mod search;
mod seed;
mod sso;
mod status;
mod transfer;
mod values;

pub use crate::http::openapi;
pub use cache::EntryError;
pub use sso::{SsoSettings, check_provider};
pub use status::Peer;
pub use transfer::FileError;

use base::token::Tokens;
use cache::EntryCache;
use kit::guests::Guests;
use kit::health::Health;
use kit::serve::{AxumHandler, Door};
use sso::Sso;
use status::Services;
use std::sync::Arc;
use std::time::Duration;
use store::Db;
use store::admins::Admins;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const LEADS_TIMEOUT: Duration = Duration::from_secs(60);

/// What the service shares with the rest of the process.
pub struct Shared {
    pub db: Db,
    /// What the gateway signs identities with.
    pub tokens: Arc<Tokens>,
    /// What tokens that come without the gateway are signed with.
    pub portal_tokens: Arc<Tokens>,
    pub admins: Admins,
    pub peers: Vec<Peer>,
    /// Addresses of the leads service. The next one is tried if one cannot be reached.
    pub leads: Vec<String>,
    /// The provider that users may sign in by.
    pub sso: Option<SsoSettings>,
    pub guests: Guests,
    /// How long the gateway tokens of users who have signed in by the provider last, at most.
    pub token_ttl: Duration,
}

#[derive(Clone)]
pub struct Portal(Arc<Inner>);

pub(crate) struct Inner {
    pub db: Db,
    pub cache: EntryCache,
    pub services: Services,
    pub tokens: Arc<Tokens>,
    pub portal_tokens: Arc<Tokens>,
    pub admins: Admins,
    pub client: reqwest::Client,
    pub leads: Vec<String>,
    /// Addresses of the supervisor.
    pub supervisors: Vec<String>,
    pub sso: Option<Sso>,
    pub guests: Guests,
    pub token_ttl: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Entry(#[from] EntryError),
    #[error("other services cannot be asked: {0}")]
    Client(#[from] reqwest::Error),
}

impl Portal {
    pub async fn open(shared: Shared) -> Result<Self, OpenError> {
        let Shared { db, tokens, portal_tokens, admins, peers, leads, sso, guests, token_ttl } = shared;
        let sso = sso.map(|settings| Sso::new(settings, db.clone())).transpose()?;
        let cache = EntryCache::new(db.clone());
        cache.seed(seed::entries()).await?;
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        let client = client.connect_timeout(CONNECT_TIMEOUT).timeout(LEADS_TIMEOUT).build()?;
        let supervisors = peers.iter().filter(|peer| peer.name == "supervisor");
        let supervisors = supervisors.map(|peer| peer.url.clone()).collect();
        let services = Services::new(peers)?;
        let inner = Inner {
            db,
            cache,
            services,
            tokens,
            portal_tokens,
            admins,
            client,
            leads,
            supervisors,
            sso,
            guests,
            token_ttl,
        };
        Ok(Self(Arc::new(inner)))
    }

    pub fn handler(&self, health: Health, door: Door) -> AxumHandler {
        http::handler(self.0.clone(), health, door)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Entry(#[from] EntryError),
}

/// Stores all entries of a file, or none. Returns how many there were.
pub async fn import(db: Db, text: &str) -> Result<usize, ImportError> {
    let imports = transfer::read(text)?;
    let number = imports.len();
    EntryCache::new(db).import(imports).await?;
    Ok(number)
}

/// Returns all entries as the file that [`import`] takes, in YAML or JSON.
pub async fn export(db: Db, as_json: bool) -> Result<String, EntryError> {
    let snapshot = EntryCache::new(db).current().await?;
    let file = transfer::write(&snapshot);
    let text = match as_json {
        true => {
            serde_json::to_string_pretty(&file).map(|text| text + "\n").map_err(|error| error.to_string())
        }
        false => serde_saphyr::to_string(&file).map_err(|error| error.to_string()),
    };
    text.map_err(EntryError::Invalid)
}
