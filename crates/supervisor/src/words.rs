//! The states of things, and the words by which they are stored and told.

use std::str::FromStr;
use store::StoreError;
use strum::{EnumString, IntoStaticStr};

/// A value that is stored under its name in lower case.
pub trait Word: Copy + Into<&'static str> + FromStr {
    fn as_str(self) -> &'static str {
        self.into()
    }

    fn parse(text: &str) -> Result<Self, StoreError> {
        store::parse_stored("a state of the supervisor", text)
    }
}

impl<T: Copy + Into<&'static str> + FromStr> Word for T {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "lowercase")]
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

/// `Running` and `Interrupted` runs are open: a project has one of them at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum RunStatus {
    Running,
    Interrupted,
    Complete,
    Error,
    Cancelled,
}

/// What somebody has asked of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Signal {
    Interrupt,
    Cancel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum TraceStatus {
    Running,
    Complete,
    Interrupted,
    Error,
}

/// What a checkpoint says of its agent, or of the whole run where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Mark {
    Complete,
    /// Its artifact is there, and a person has to decide on it.
    Waiting,
    Approved,
    Edited,
    Rejected,
    Interrupted,
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Level {
    Info,
    Warn,
    Error,
}
