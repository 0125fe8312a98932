//! The statuses of projects, runs, traces and checkpoints, and the names by which they are stored and shown.

use serde::{Deserialize, Serialize};
use store::StoreError;
use utoipa::ToSchema;

/// A value that is stored by its name.
pub trait StoredName: Copy + 'static {
    const ALL: &'static [Self];

    fn as_str(self) -> &'static str;

    fn parse(text: &str) -> Result<Self, StoreError> {
        let found = Self::ALL.iter().find(|value| value.as_str() == text);
        found.copied().ok_or_else(|| StoreError::Corrupt {
            what: "a status of the supervisor".to_owned(),
            reason: format!("unknown name `{text}`"),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
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

impl StoredName for ProjectStatus {
    const ALL: &'static [Self] =
        &[Self::Active, Self::Running, Self::Interrupted, Self::Complete, Self::Error];

    fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Complete => "complete",
            Self::Error => "error",
        }
    }
}

/// The status of a run. A run that is `running` or `interrupted` is open; a project has at most one open run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    Running,
    Interrupted,
    Complete,
    Error,
    Cancelled,
}

impl StoredName for RunStatus {
    const ALL: &'static [Self] =
        &[Self::Running, Self::Interrupted, Self::Complete, Self::Error, Self::Cancelled];

    fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Complete => "complete",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A request to stop an open run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Cancel,
}

impl StoredName for Signal {
    const ALL: &'static [Self] = &[Self::Interrupt, Self::Cancel];

    fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Cancel => "cancel",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TraceStatus {
    Running,
    Complete,
    Interrupted,
    Error,
}

impl StoredName for TraceStatus {
    const ALL: &'static [Self] = &[Self::Running, Self::Complete, Self::Interrupted, Self::Error];

    fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
        }
    }
}

/// What a checkpoint says of its agent; of the whole run, if it has no agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckpointStatus {
    Complete,
    /// The artifact is stored and waits for approval.
    Waiting,
    Approved,
    Edited,
    Rejected,
    Interrupted,
}

impl StoredName for CheckpointStatus {
    const ALL: &'static [Self] =
        &[Self::Complete, Self::Waiting, Self::Approved, Self::Edited, Self::Rejected, Self::Interrupted];

    fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Edited => "edited",
            Self::Rejected => "rejected",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Info,
    Warn,
    Error,
}

impl StoredName for Level {
    const ALL: &'static [Self] = &[Self::Info, Self::Warn, Self::Error];

    fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}
