//! The seam to what keeps account of calls: on whose behalf a model is asked and what for, and what the call has used.

use crate::{Cause, Purpose};
use futures_util::future::BoxFuture;
use std::time::Duration;

/// On whose behalf a model is asked, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub who: Who,
    pub purpose: Purpose,
    /// The project whose agent asks.
    pub project: Option<Project>,
    /// The id of the space that the question is about.
    pub space: Option<String>,
}

impl Caller {
    pub fn new(who: Who, purpose: Purpose) -> Self {
        Self { who, purpose, project: None, space: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// By the id.
    User(String),
    /// By the name at the gateway.
    Administrator(String),
    /// By the network address, which decides whose turn it is, and is not kept.
    Guest(String),
    /// A program on this machine.
    Local,
}

impl Who {
    /// Returns whose turn at the embedded model a question takes.
    pub fn turn(&self) -> &str {
        match self {
            Self::User(name) | Self::Administrator(name) | Self::Guest(name) => name,
            Self::Local => "local",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: String,
    pub name: String,
}

/// A call of a model that has ended: with the whole answer, with an error, or because its reply was dropped.
#[derive(Clone, Debug)]
pub struct Call {
    pub caller: Caller,
    pub provider: String,
    pub model: String,
    /// As the model counts them. Of a call that broke off, an estimate.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub took: Duration,
}

/// What keeps account of calls. It is in the services, which know users and budgets.
pub trait Ledger: Send + Sync {
    /// Returns why a model of this provider may not be asked now, if it may not.
    fn admit<'a>(&'a self, caller: &'a Caller, provider: &'a str) -> BoxFuture<'a, Result<(), Cause>>;

    /// Takes down a call. It does not wait.
    fn record(&self, call: Call);
}
