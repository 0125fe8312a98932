//! Stoa's lead ingest: web forms in, a durable outbox, a CRM out.
//!
//! `http` has the routes. `intake` checks what a form sends, by the rules in `forms`; `outbox` stores it; `forward` sends
//! it to the CRM. SQL is in `tables`.

mod clean;
mod csv;
mod deep_check;
mod field_kind;
mod forms;
mod forward;
mod http;
mod intake;
mod outbox;
mod records;
mod tables;

pub use crate::http::openapi;
pub use deep_check::check;
pub use forms::{FormFault, Forms};
pub use forward::{CrmKind, CrmSettings, CrmUrl, SigningSecret};

use base::token::Tokens;
use kit::health::Health;
use kit::serve::{AxumHandler, Door, Drain};
use outbox::Outbox;
use std::sync::Arc;
use std::time::Duration;
use store::admins::Admins;
use store::{Db, StoreError};

/// The service's tables.
pub const SCHEMA: store::Schema = store::Schema { scope: tables::SCOPE, migrations: tables::MIGRATIONS };

/// The settings of the service.
pub struct LeadsSettings {
    pub forms: Forms,
    /// If absent, leads wait in the outbox.
    pub crm: Option<CrmSettings>,
    /// The limit on submissions from one address to one form.
    pub per_minute: u32,
    /// The lease of the jobs that send leads: how long they stay with a process that has died.
    pub job_lease: Duration,
}

/// What the service shares with the rest of the process.
pub struct Shared {
    pub db: Db,
    pub tokens: Arc<Tokens>,
    pub admins: Admins,
    pub drain: Drain,
}

/// The lead ingest: a handle that clones cheaply.
#[derive(Clone)]
pub struct Leads(Arc<Inner>);

pub(crate) struct Inner {
    pub db: Db,
    pub outbox: Outbox,
    pub tokens: Arc<Tokens>,
    pub admins: Admins,
    pub drain: Drain,
    pub settings: LeadsSettings,
}

impl Leads {
    pub async fn open(shared: Shared, settings: LeadsSettings) -> Result<Self, StoreError> {
        let Shared { db, tokens, admins, drain } = shared;
        db.migrate(tables::SCOPE, tables::MIGRATIONS).await?;
        let outbox = Outbox::new(db.clone());
        Ok(Self(Arc::new(Inner { db, outbox, tokens, admins, drain, settings })))
    }

    /// Sends leads to the CRM until the process is asked to stop.
    pub async fn work(self) {
        let Inner { db, outbox, drain, settings, .. } = &*self.0;
        let stopped = drain.token();
        tokio::spawn(outbox.clone().remove_old_digests(stopped.clone()));
        let Some(crm) = &settings.crm else {
            tracing::info!("no CRM is set: leads wait in the outbox");
            return;
        };
        if crm.is_unsigned() {
            tracing::warn!("CRM_SIGNING_SECRET is unset: the webhook cannot verify where leads come from");
        }
        match forward::worker(db.clone(), settings.forms.clone(), crm, settings.job_lease) {
            Ok(worker) => worker.run(stopped).await,
            Err(error) => tracing::error!(%error, "the CRM cannot be reached: leads wait in the outbox"),
        }
    }

    pub fn handler(&self, health: Health, door: Door) -> AxumHandler {
        http::handler(self.0.clone(), health, door)
    }
}
