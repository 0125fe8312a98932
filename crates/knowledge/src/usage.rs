//! The use of models: a row for each call, what it has cost, and budgets that a call must have left.
//!
//! It is the [`Ledger`] of the providers in every process that asks models. A call that has ended waits in memory until a task
//! ([`Usage::keep`]) has written it, within milliseconds; before a budget is looked up, and at the end of the process, all that
//! wait are written. So only a process that is killed loses rows, and only those milliseconds.
//!
//! A budget is looked up before a call and grows with it at its end: calls that run when it is used up go on to their end, in
//! all processes. Prices and budgets are read from the database each time, so a change counts everywhere at once. `prices` is
//! what a call costs, `budgets` who may use how much.

mod budgets;
mod prices;

pub use budgets::{Budget, BudgetKind, Budgets, Limits, MAX_BUDGETS, Spent};
pub use prices::{MAX_PRICES, Price, Prices, micros};

use crate::tables::usage as table;
use crate::tables::{connections, users};
use base::{Clock, Random};
use budgets::BudgetFor;
use futures_util::future::BoxFuture;
use llm::{Call, Caller, Cause, EDGE_AI, Ledger, Who};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{Db, StoreError};
use tokio::sync::Notify;

pub const DAY_MS: i64 = 86_400_000;
/// Millionths of the currency, in which costs are kept: sums of floats would depend on their order.
pub const MICROS: f64 = 1_000_000.0;
/// In place of the id of a user: guests have none, and their addresses are not kept.
const GUESTS: &str = "guests";
/// The same for programs on this machine.
const LOCAL: &str = "local";
/// Calls that wait while the database is away. More are lost.
const MAX_WAITING: usize = 100_000;
const MAX_BATCH: usize = 500;
const RETRY_PAUSE: Duration = Duration::from_secs(3);

/// A call as it is stored.
#[derive(Clone, Debug)]
pub struct CallRow {
    pub id: String,
    pub ended_at: i64,
    pub user_id: String,
    pub purpose: String,
    pub project_id: String,
    pub space_id: String,
    pub connection: String,
    pub model: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub milliseconds: i64,
    pub cost: i64,
}

/// Which calls are meant.
#[derive(Clone, Debug, Default)]
pub struct CallFilter {
    pub from: i64,
    /// The first moment after them.
    pub to: i64,
    pub user_id: Option<String>,
    pub project_id: Option<String>,
    pub space_id: Option<String>,
}

/// What the calls of a sum have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    User,
    Space,
    Project,
    Day,
    Connection,
    Model,
    Purpose,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub calls: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub milliseconds: i64,
    pub cost: i64,
}

impl Sums {
    pub fn plus(self, other: &Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            milliseconds: self.milliseconds + other.milliseconds,
            cost: self.cost.saturating_add(other.cost),
        }
    }
}

/// The calls that have one thing in common.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its id, or the number of the day since 1970; empty for calls that have none.
    pub key: String,
    pub name: String,
    pub sums: Sums,
}

/// A handle that clones cheaply.
#[derive(Clone)]
pub struct Usage(Arc<Inner>);

struct Inner {
    db: Db,
    clock: Clock,
    random: Random,
    waiting: Mutex<Vec<WaitingCall>>,
    recorded: Notify,
    writing: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct WaitingCall {
    /// Made before the first attempt to write it, so that another one cannot write it twice.
    id: String,
    ended_at: i64,
    call: Call,
}

impl Usage {
    pub fn new(db: Db, clock: Clock, random: Random) -> Self {
        let (waiting, recorded, writing) = Default::default();
        Self(Arc::new(Inner { db, clock, random, waiting, recorded, writing }))
    }

    /// Writes calls soon after they have ended, as long as the process runs.
    pub async fn keep(self) {
        loop {
            self.0.recorded.notified().await;
            while let Err(error) = self.write().await {
                tracing::warn!(%error, "the use of models cannot be stored yet");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }

    /// Writes all calls that have been recorded before.
    pub async fn write(&self) -> Result<(), StoreError> {
        let _turn = self.0.writing.lock().await;
        loop {
            let batch: Vec<WaitingCall> = self.waiting().iter().take(MAX_BATCH).cloned().collect();
            if batch.is_empty() {
                return Ok(());
            }
            match self.write_batch(&batch).await {
                Err(error) if error.is_refusal() => self.write_each(&batch).await?,
                written => written?,
            }
            self.waiting().drain(..batch.len());
        }
    }

    /// Writes what can be written: what is refused is refused by every later attempt too, and what is behind it would wait
    /// for ever.
    async fn write_each(&self, batch: &[WaitingCall]) -> Result<(), StoreError> {
        for one in batch.chunks(1) {
            match self.write_batch(one).await {
                Err(error) if error.is_refusal() => {
                    tracing::error!(%error, "the use of a model cannot be stored");
                }
                written => written?,
            }
        }
        Ok(())
    }

    async fn write_batch(&self, batch: &[WaitingCall]) -> Result<(), StoreError> {
        let prices = self.prices().await?;
        let mut rows = Vec::new();
        for waiting in batch {
            rows.push(self.row(waiting, &prices).await?);
        }
        let mut tx = self.0.db.begin().await?;
        table::insert(&mut tx, &rows).await?;
        for project in batch.iter().filter_map(|waiting| waiting.call.caller.project.as_ref()) {
            table::set_project_name(&mut tx, &project.id, &project.name).await?;
        }
        tx.commit().await
    }

    async fn row(&self, waiting: &WaitingCall, prices: &Prices) -> Result<CallRow, StoreError> {
        let WaitingCall { id, ended_at, call } = waiting;
        let connection = match llm::canonical(&call.provider) {
            Some(provider) => provider.to_owned(),
            None => connections::id_of(&self.0.db, &call.provider).await?.unwrap_or(call.provider.clone()),
        };
        let [input_tokens, output_tokens] =
            [call.input_tokens, call.output_tokens].map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX));
        Ok(CallRow {
            id: id.clone(),
            ended_at: *ended_at,
            user_id: self.user_id(&call.caller.who).await?,
            purpose: call.caller.purpose.name().to_owned(),
            project_id: call.caller.project.as_ref().map(|project| project.id.clone()).unwrap_or_default(),
            space_id: call.caller.space.clone().unwrap_or_default(),
            // Fixed here: a price that is changed later counts for later calls, and what was paid stays as it was.
            cost: prices.cost(&connection, &call.model, input_tokens, output_tokens),
            connection,
            model: call.model.clone(),
            input_tokens,
            output_tokens,
            milliseconds: i64::try_from(call.took.as_millis()).unwrap_or(i64::MAX),
        })
    }

    /// Returns under which id the calls of a caller are kept.
    async fn user_id(&self, who: &Who) -> Result<String, StoreError> {
        Ok(match who {
            Who::User(id) => id.clone(),
            // The gateway knows administrators by their names; some have no account.
            Who::Administrator(name) => {
                let found = users::find_by_login_name(&self.0.db, &name.to_lowercase()).await?;
                found.filter(|(user, _)| user.is_admin).map_or_else(|| name.clone(), |(user, _)| user.id)
            }
            Who::Guest(_) => GUESTS.to_owned(),
            Who::Local => LOCAL.to_owned(),
        })
    }

    /// Returns the sums of calls by what they have in common: days in their order, of others the dearest first.
    pub async fn groups(&self, filter: &CallFilter, by: GroupBy) -> Result<Vec<Group>, StoreError> {
        self.write().await?;
        table::groups(&self.0.db, filter, by).await
    }

    /// Returns calls with names in place of ids, the oldest first, after the one with this time and id.
    pub async fn page(
        &self,
        filter: &CallFilter,
        after: Option<(i64, &str)>,
        limit: i64,
    ) -> Result<Vec<CallRow>, StoreError> {
        table::page(&self.0.db, filter, after, limit).await
    }

    pub async fn prices(&self) -> Result<Prices, StoreError> {
        self.settings("prices").await
    }

    pub async fn set_prices(&self, prices: &Prices) -> Result<(), StoreError> {
        self.set_settings("prices", prices).await
    }

    pub async fn budgets(&self) -> Result<Budgets, StoreError> {
        self.settings("budgets").await
    }

    pub async fn set_budgets(&self, budgets: &Budgets) -> Result<(), StoreError> {
        self.set_settings("budgets", budgets).await
    }

    async fn settings<T: DeserializeOwned + Default>(&self, kind: &str) -> Result<T, StoreError> {
        let Some(text) = table::settings(&self.0.db, kind).await? else { return Ok(T::default()) };
        let corrupt = |error: serde_json::Error| StoreError::Corrupt {
            what: kind.to_owned(),
            reason: error.to_string(),
        };
        serde_json::from_str(&text).map_err(corrupt)
    }

    async fn set_settings(&self, kind: &str, settings: &impl Serialize) -> Result<(), StoreError> {
        let mut tx = self.0.db.begin().await?;
        let text = serde_json::to_string(settings).unwrap_or_default();
        table::set_settings(&mut tx, kind, &text).await?;
        tx.commit().await
    }

    /// Returns when today began, in UTC.
    pub fn today(&self) -> i64 {
        let now = self.0.clock.now_ms();
        now - now.rem_euclid(DAY_MS)
    }

    /// Returns what was used today of what budgets count: of all, or of a user's or a project's.
    pub async fn spent(&self, kind: BudgetKind, id: &str) -> Result<Spent, StoreError> {
        self.write().await?;
        table::spent(&self.0.db, kind, id, self.today()).await
    }

    /// Returns why a caller may not ask a model now, if it may not.
    async fn refusal(&self, caller: &Caller) -> Result<Option<String>, StoreError> {
        let budgets = self.budgets().await?;
        if budgets.is_empty() {
            return Ok(None);
        }
        let user_id = self.user_id(&caller.who).await?;
        let project_id = caller.project.as_ref().map(|project| project.id.as_str());
        for BudgetFor { kind, id, limits } in budgets.applying(&user_id, project_id) {
            let spent = self.spent(kind, id).await?;
            if let Some(message) = limits.refusal(kind, spent, &self.prices().await?.currency) {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<WaitingCall>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger for Usage {
    /// The embedded model costs nothing, so no budget counts it or refuses it.
    fn admit<'a>(&'a self, caller: &'a Caller, provider: &'a str) -> BoxFuture<'a, Result<(), Cause>> {
        Box::pin(async move {
            if provider == EDGE_AI {
                return Ok(());
            }
            match self.refusal(caller).await {
                Ok(None) => Ok(()),
                Ok(Some(message)) => {
                    Err(Cause::BudgetUsedUp { message, resets_at_ms: self.today() + DAY_MS })
                }
                Err(error) => {
                    tracing::error!(%error, "a budget cannot be looked up");
                    Err(Cause::Failed("the budget cannot be looked up: try again in a moment".to_owned()))
                }
            }
        })
    }

    fn record(&self, call: Call) {
        let Inner { clock, random, recorded, .. } = &*self.0;
        let mut waiting = self.waiting();
        if waiting.len() >= MAX_WAITING {
            tracing::error!("the use of models cannot be stored for too long: a call is lost");
            return;
        }
        let id = random.uuid_v7(clock).to_string();
        waiting.push(WaitingCall { id, ended_at: clock.now_ms(), call });
        recorded.notify_one();
    }
}
