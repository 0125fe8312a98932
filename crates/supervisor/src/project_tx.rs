//! A transaction on a project: changes, with the events and the log lines about them. All of it is committed, or none.

use crate::events::{NamedEvent, RunEvent};
use crate::records::{Log, Project, Run};
use crate::status::Level;
use crate::tables;
use kit::fields::Time;
use serde_json::Value;
use store::jobs::Job;
use store::{Db, StoreError, Tx, events};

/// A transaction that has locked a project's row.
pub struct ProjectTx<'a> {
    tx: Handle<'a>,
    /// The project as it was when it was locked.
    pub project: Project,
    events: Vec<RunEvent>,
    logs: Vec<Log>,
    /// The run whose last event is in this transaction.
    ended_run: Option<Run>,
}

enum Handle<'a> {
    Own(Tx),
    /// The caller of [`ProjectTx::within`] commits it.
    Borrowed(&'a mut Tx),
}

impl ProjectTx<'static> {
    /// Begins a transaction and locks the project. Returns none if there is no such project.
    pub async fn begin(db: &Db, project_id: &str) -> Result<Option<Self>, StoreError> {
        Self::lock(Handle::Own(db.begin().await?), project_id).await
    }

    /// As [`ProjectTx::begin`]; it may be committed together with those of other projects. What it finds counts only if it
    /// is committed.
    pub async fn begin_in_group(db: &Db, project_id: &str) -> Result<Option<Self>, StoreError> {
        Self::lock(Handle::Own(db.begin_in_group().await?), project_id).await
    }

    /// As [`ProjectTx::begin_in_group`], for the worker that has the job of the project's run. Fails if it has it no longer.
    /// Returns also whether the job is to be cancelled.
    pub async fn begin_with_job(
        db: &Db,
        project_id: &str,
        job: &Job,
    ) -> Result<Option<(Self, bool)>, StoreError> {
        let mut tx = db.begin_in_group().await?;
        let held = tables::projects::lock_and_hold(&mut tx, project_id, job).await?;
        Ok(held.map(|(project, is_cancelled)| (Self::new(Handle::Own(tx), project), is_cancelled)))
    }
}

impl<'a> ProjectTx<'a> {
    /// Locks the project in a transaction that the caller commits. Returns none if there is no such project.
    pub async fn within(tx: &'a mut Tx, project_id: &str) -> Result<Option<Self>, StoreError> {
        Self::lock(Handle::Borrowed(tx), project_id).await
    }

    async fn lock(mut tx: Handle<'a>, project_id: &str) -> Result<Option<Self>, StoreError> {
        let project = tables::projects::lock(tx.get(), project_id).await?;
        Ok(project.map(|project| Self::new(tx, project)))
    }

    fn new(tx: Handle<'a>, project: Project) -> Self {
        Self { tx, project, events: Vec::new(), logs: Vec::new(), ended_run: None }
    }

    /// Returns the transaction itself, for statements.
    pub fn inner(&mut self) -> &mut Tx {
        self.tx.get()
    }

    fn db(&self) -> &Db {
        match &self.tx {
            Handle::Own(tx) => tx.db(),
            Handle::Borrowed(tx) => tx.db(),
        }
    }

    pub fn now(&self) -> Time {
        Time(self.db().clock().now_ms())
    }

    pub fn new_id(&self) -> String {
        let db = self.db();
        db.random().uuid_v7(db.clock()).to_string()
    }

    /// Adds an event. It is stored at the commit.
    pub fn event(&mut self, event: RunEvent) {
        self.events.push(event);
    }

    /// Adds a line to the project's log. It is stored at the commit.
    pub fn log(&mut self, level: Level, phase: &str, agent: Option<&str>, message: impl Into<String>) {
        let log = Log {
            id: self.new_id(),
            level,
            message: message.into(),
            agent: agent.map(str::to_owned),
            phase: Some(phase.to_owned()).filter(|phase| !phase.is_empty()),
            created_at: self.now(),
        };
        self.logs.push(log);
    }

    /// Ends a run: the last event of this transaction becomes the run's last, and the run is stored as given.
    pub fn end_run(&mut self, run: Run) {
        self.ended_run = Some(run);
    }

    /// Stores the events and the log lines, and commits. A borrowed transaction is left to its owner to commit.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        let tx = self.tx.get();
        if !self.events.is_empty() {
            let named = self.events.iter().map(NamedEvent::try_from).collect::<Result<Vec<_>, _>>()?;
            let named: Vec<(&str, Value)> =
                named.iter().map(|event| (event.name.as_str(), event.data.clone())).collect();
            let stream = Project::stream(&self.project.id);
            match self.ended_run {
                Some(run) => {
                    let last_event = Some(events::append(tx, &stream, &named).await?);
                    tables::runs::update(tx, &Run { last_event, ..run });
                }
                None => events::append_later(tx, &stream, &named).await?,
            }
        }
        if !self.logs.is_empty() {
            tables::logs::insert_all(tx, &self.project.id, &self.logs);
        }
        match self.tx {
            Handle::Own(tx) => tx.commit().await,
            Handle::Borrowed(_) => Ok(()),
        }
    }
}

impl Handle<'_> {
    fn get(&mut self) -> &mut Tx {
        match self {
            Self::Own(tx) => tx,
            Self::Borrowed(tx) => tx,
        }
    }
}
