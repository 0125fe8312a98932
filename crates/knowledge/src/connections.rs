//! Connections: servers of models that administrators add while the program runs, and which model answers for what.
//!
//! They are kept in the database. Every process that answers reads them anew when they change ([`Connections::keep`]) and
//! gives them to its [`Providers`]; keys are encrypted as those of sources are.

use crate::secrets::SecretKeys;
use crate::tables::connections as table;
use base::{Clock, Random};
use llm::{ApiKey, BaseUrl, Connection, DefaultModel, Kind, Providers, Purpose, ServedModel, Server};
use std::collections::HashMap;
use std::sync::Arc;
use store::{Db, StoreError, Tx};

const TOPIC: &str = "connections";
const MAX_CONNECTIONS: i64 = 100;

#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error("no connection `{0}`")]
    NoSuchConnection(String),
    #[error("another connection is called `{0}`")]
    NameTaken(String),
    #[error("the key cannot be kept: SOURCES_KEY or JWT_SECRET must be set")]
    NoKey,
    #[error("`apiKey` is missing: it was given for another server, so give it again")]
    KeyOfAnother,
    #[error("there are {MAX_CONNECTIONS} connections, the most that can be: delete one first")]
    TooMany,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A connection as it is stored.
#[derive(Clone, Debug)]
pub struct Record {
    pub id: String,
    pub name: String,
    pub kind: String,
    pub base_url: String,
    /// Encrypted; empty if there is none.
    pub api_key: String,
    pub models: Vec<ServedModel>,
    pub created_at: i64,
}

/// Which model answers for a purpose.
#[derive(Clone, Debug, PartialEq)]
pub struct Default {
    pub purpose: String,
    /// The id of a connection, or the name of a provider of the settings.
    pub connection: String,
    /// Empty for the connection's first one.
    pub model: String,
}

/// What is to change of a connection.
#[derive(std::default::Default)]
pub struct ConnectionChanges {
    pub name: Option<String>,
    pub base_url: Option<BaseUrl>,
    /// `Some(None)` drops it.
    pub api_key: Option<Option<ApiKey>>,
    pub models: Option<Vec<ServedModel>>,
}

/// A handle that clones cheaply.
#[derive(Clone)]
pub struct Connections(Arc<Inner>);

struct Inner {
    db: Db,
    clock: Clock,
    random: Random,
    keys: Arc<SecretKeys>,
    providers: Arc<Providers>,
}

impl Connections {
    pub fn new(
        db: Db,
        clock: Clock,
        random: Random,
        keys: Arc<SecretKeys>,
        providers: Arc<Providers>,
    ) -> Self {
        Self(Arc::new(Inner { db, clock, random, keys, providers }))
    }

    /// Gives the providers what is stored, now and after every change, as long as the process runs.
    pub async fn keep(self) {
        let mut wakeup = self.0.db.subscribe(TOPIC);
        loop {
            if let Err(error) = self.load().await {
                tracing::warn!(%error, "connections cannot be read");
            }
            wakeup.notified_or_poll().await;
        }
    }

    /// Gives the providers what is stored.
    pub async fn load(&self) -> Result<(), StoreError> {
        let records = table::all(&self.0.db).await?;
        let mut defaults = HashMap::new();
        for default in table::defaults(&self.0.db).await? {
            let named = records.iter().find(|record| record.id == default.connection);
            let provider = named.map_or(&default.connection, |record| &record.name).clone();
            let model = Some(default.model).filter(|model| !model.is_empty());
            if let Some(purpose) =
                Purpose::WITH_DEFAULT.into_iter().find(|purpose| purpose.name() == default.purpose)
            {
                defaults.insert(purpose, DefaultModel { provider, model });
            }
        }
        let connections = records.iter().filter_map(|record| self.connection(record)).collect();
        self.0.providers.connect(connections, defaults);
        Ok(())
    }

    pub async fn list(&self) -> Result<Vec<Record>, ConnectionError> {
        Ok(table::all(&self.0.db).await?)
    }

    pub async fn get(&self, id: &str) -> Result<Record, ConnectionError> {
        let all = self.list().await?;
        all.into_iter().find(|record| record.id == id).ok_or_else(|| no_such(id))
    }

    /// Adds a connection.
    pub async fn create(&self, new: Connection) -> Result<Record, ConnectionError> {
        let this = &self.0;
        let id = this.random.uuid_v7(&this.clock).to_string();
        let record = Record {
            api_key: self.encrypt(&id, new.api_key.as_ref())?,
            id,
            name: new.name,
            kind: new.kind.name().to_owned(),
            base_url: new.base_url.as_str().to_owned(),
            models: new.models,
            created_at: this.clock.now_ms(),
        };
        let mut tx = this.db.begin().await?;
        if table::count(&mut tx).await? >= MAX_CONNECTIONS {
            return Err(ConnectionError::TooMany);
        }
        if !table::insert(&mut tx, &record).await? {
            return Err(ConnectionError::NameTaken(record.name));
        }
        self.commit(tx).await?;
        Ok(record)
    }

    /// Changes a connection. Its key is for the server that it was given for.
    pub async fn update(&self, id: &str, changes: ConnectionChanges) -> Result<Record, ConnectionError> {
        let mut tx = self.0.db.begin().await?;
        let mut record = lock(&mut tx, id).await?;
        if let Some(base_url) = &changes.base_url {
            let stays = record.base_url.parse().is_ok_and(|before: BaseUrl| before.is_same_server(base_url));
            if !stays && !record.api_key.is_empty() && changes.api_key.is_none() {
                return Err(ConnectionError::KeyOfAnother);
            }
            record.base_url = base_url.as_str().to_owned();
        }
        if let Some(key) = changes.api_key {
            record.api_key = self.encrypt(id, key.as_ref())?;
        }
        record.name = changes.name.unwrap_or(record.name);
        record.models = changes.models.unwrap_or(record.models);
        if !table::update(&mut tx, &record).await? {
            return Err(ConnectionError::NameTaken(record.name));
        }
        self.commit(tx).await?;
        Ok(record)
    }

    pub async fn remove(&self, id: &str) -> Result<(), ConnectionError> {
        let mut tx = self.0.db.begin().await?;
        if id.contains('\0') || !table::delete(&mut tx, id).await? {
            return Err(no_such(id));
        }
        self.commit(tx).await
    }

    pub async fn defaults(&self) -> Result<Vec<Default>, ConnectionError> {
        Ok(table::defaults(&self.0.db).await?)
    }

    /// Sets which model answers for each of these purposes, or for none of them; none: the one of the settings.
    pub async fn set_defaults(&self, defaults: Vec<(&str, Option<Default>)>) -> Result<(), ConnectionError> {
        let mut tx = self.0.db.begin().await?;
        for (purpose, default) in defaults {
            match default {
                None => table::drop_default(&mut tx, purpose).await?,
                Some(default) => {
                    if llm::canonical(&default.connection).is_none() {
                        lock(&mut tx, &default.connection).await?;
                    }
                    table::set_default(&mut tx, &default).await?;
                }
            }
        }
        self.commit(tx).await
    }

    /// Returns the server of a stored connection, to try it out.
    pub fn server(&self, record: &Record) -> Result<Arc<Server>, ConnectionError> {
        let connection = self.connection(record).ok_or(ConnectionError::NoKey)?;
        Ok(self.0.providers.server(connection))
    }

    async fn commit(&self, mut tx: Tx) -> Result<(), ConnectionError> {
        tx.wake(TOPIC);
        tx.commit().await?;
        // What follows in this process finds the change.
        Ok(self.load().await?)
    }

    /// Returns none if its key cannot be read any more.
    fn connection(&self, record: &Record) -> Option<Connection> {
        let api_key = match record.api_key.is_empty() {
            true => None,
            false => Some(self.0.keys.decrypt(&record.id, &record.api_key)?.parse().ok()?),
        };
        Some(Connection {
            name: record.name.clone(),
            kind: Kind::find(&record.kind)?,
            base_url: record.base_url.parse().ok()?,
            api_key,
            models: record.models.clone(),
        })
    }

    fn encrypt(&self, id: &str, key: Option<&ApiKey>) -> Result<String, ConnectionError> {
        match key {
            None => Ok(String::new()),
            Some(key) => self.0.keys.encrypt(id, key.as_str()).ok_or(ConnectionError::NoKey),
        }
    }
}

async fn lock(tx: &mut Tx, id: &str) -> Result<Record, ConnectionError> {
    // No id has a NUL character, and PostgreSQL would refuse the statement.
    let found = if id.contains('\0') { None } else { table::lock(tx, id).await? };
    found.ok_or_else(|| no_such(id))
}

fn no_such(id: &str) -> ConnectionError {
    ConnectionError::NoSuchConnection(id.to_owned())
}
