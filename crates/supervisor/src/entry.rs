//! One transaction on a project: what changes, with the events and the log lines that tell of it. All of it is
//! committed at once, or none.

use crate::records::{Log, Project, Run};
use crate::tables;
use crate::words::{Level, Word};
use serde_json::Value;
use store::{Db, StoreError, Tx, events};

pub struct Entry<'a> {
    tx: Handle<'a>,
    /// As it was when it was locked.
    pub project: Project,
    events: Vec<(&'static str, Value)>,
    logs: Vec<Log>,
    /// The run whose last event is among these.
    ends: Option<Run>,
}

enum Handle<'a> {
    Own(Tx),
    /// Of somebody who commits it.
    Lent(&'a mut Tx),
}

impl Entry<'static> {
    /// Locks the project. None where it is gone.
    pub async fn begin(db: &Db, project_id: &str) -> Result<Option<Self>, StoreError> {
        Self::on(Handle::Own(db.begin().await?), project_id).await
    }
}

impl<'a> Entry<'a> {
    /// In a transaction that somebody else commits.
    pub async fn lent(tx: &'a mut Tx, project_id: &str) -> Result<Option<Self>, StoreError> {
        Self::on(Handle::Lent(tx), project_id).await
    }

    async fn on(mut tx: Handle<'a>, project_id: &str) -> Result<Option<Self>, StoreError> {
        let project = tables::projects::lock(tx.get(), project_id).await?;
        Ok(project.map(|project| Self { tx, project, events: Vec::new(), logs: Vec::new(), ends: None }))
    }

    pub fn tx(&mut self) -> &mut Tx {
        self.tx.get()
    }

    fn db(&self) -> &Db {
        match &self.tx {
            Handle::Own(tx) => tx.db(),
            Handle::Lent(tx) => tx.db(),
        }
    }

    pub fn now(&self) -> i64 {
        self.db().clock().now_ms()
    }

    pub fn new_id(&self) -> String {
        let db = self.db();
        db.random().uuid_v7(db.clock()).to_string()
    }

    pub fn event(&mut self, name: &'static str, data: Value) {
        self.events.push((name, data));
    }

    pub fn log(&mut self, level: Level, phase: &str, agent: Option<&str>, message: impl Into<String>) {
        let log = Log {
            id: self.new_id(),
            level: level.as_str().to_owned(),
            message: message.into(),
            agent: agent.map(str::to_owned),
            phase: Some(phase.to_owned()).filter(|phase| !phase.is_empty()),
            created_at: self.now(),
        };
        self.logs.push(log);
    }

    /// The events of this entry are the last of `run`, which is stored as it is here.
    pub fn ends(&mut self, run: Run) {
        self.ends = Some(run);
    }

    /// Writes what there is to tell, and commits it all, or leaves that to the transaction's owner.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        let tx = self.tx.get();
        if !self.events.is_empty() {
            let last = events::append(tx, &Project::stream(&self.project.id), &self.events).await?;
            if let Some(run) = self.ends {
                tables::runs::update(tx, &Run { last_event: Some(last), ..run }).await?;
            }
        }
        if !self.logs.is_empty() {
            tables::logs::insert_all(tx, &self.project.id, &self.logs).await?;
        }
        match self.tx {
            Handle::Own(tx) => tx.commit().await,
            Handle::Lent(_) => Ok(()),
        }
    }
}

impl Handle<'_> {
    fn get(&mut self) -> &mut Tx {
        match self {
            Self::Own(tx) => tx,
            Self::Lent(tx) => tx,
        }
    }
}
