//! The states of things, and the words by which they are stored and told.

use store::StoreError;

/// A state that is stored as a word.
pub trait Word: Copy + 'static {
    const ALL: &'static [Self];

    fn as_str(self) -> &'static str;

    fn parse(text: &str) -> Result<Self, StoreError> {
        let found = Self::ALL.iter().find(|word| word.as_str() == text);
        found.copied().ok_or_else(|| StoreError::Corrupt {
            what: "a state of the supervisor".to_owned(),
            reason: format!("unknown word `{text}`"),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectStatus {
    /// Nothing runs, and a phase is left.
    Active,
    Running,
    /// Its run waits for a person.
    Interrupted,
    /// All phases are complete.
    Complete,
    Error,
}

impl Word for ProjectStatus {
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

/// `Running` and `Interrupted` runs are open: a project has one of them at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    Running,
    Interrupted,
    Complete,
    Error,
    Cancelled,
}

impl Word for RunStatus {
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

/// What somebody has asked of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Cancel,
}

impl Word for Signal {
    const ALL: &'static [Self] = &[Self::Interrupt, Self::Cancel];

    fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Cancel => "cancel",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceStatus {
    Running,
    Complete,
    Interrupted,
    Error,
}

impl Word for TraceStatus {
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

/// What a checkpoint says of its agent, or of the whole run where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Complete,
    /// Its artifact is there, and a person has to decide on it.
    Waiting,
    Approved,
    Edited,
    Rejected,
    Interrupted,
}

impl Word for Mark {
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

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Info,
    Warn,
    Error,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}
