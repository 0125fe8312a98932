//! The statuses of projects, runs, traces and checkpoints, and the names by which they are stored and shown.

use serde::{Deserialize, Serialize};
use std::str::FromStr;
use store::StoreError;
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

/// A value that is stored under its name in lower case.
pub trait StoredName: Copy + Into<&'static str> + FromStr {
    fn as_str(self) -> &'static str {
        self.into()
    }

    fn parse(text: &str) -> Result<Self, StoreError> {
        store::parse_stored("a status of the supervisor", text)
    }
}

impl<T: Copy + Into<&'static str> + FromStr> StoredName for T {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ProjectStatus {
    /// Nothing runs, and a phase is not complete yet.
    Active,
    Running,
    /// Its run waits until it is resumed.
    Interrupted,
    /// All phases are complete.
    Complete,
    Error,
}

/// The status of a run. A run that is `running` or `interrupted` is open; a project has at most one open run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum RunStatus {
    Running,
    Interrupted,
    Complete,
    Error,
    Cancelled,
}

/// A request to stop an open run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Signal {
    Interrupt,
    Cancel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum TraceStatus {
    Running,
    Complete,
    Interrupted,
    Error,
}

/// What a checkpoint says of its agent; of the whole run, if it has no agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum CheckpointStatus {
    Complete,
    /// The artifact is stored and waits for approval.
    Waiting,
    Approved,
    Edited,
    Rejected,
    Interrupted,
}

/// The level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Level {
    Info,
    Warn,
    Error,
}
