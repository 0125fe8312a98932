//! What a CRM is to us.

use crate::records::Lead;
use futures_util::future::BoxFuture;
use std::time::Duration;

/// A system that takes leads. It may be given one more than once, always under the same id.
pub trait Crm: Send + Sync {
    fn send<'a>(&'a self, lead: &'a Lead) -> BoxFuture<'a, Result<(), SendError>>;
}

#[derive(Debug, PartialEq, Eq)]
pub enum SendError {
    /// It may take it at another time.
    Later { cause: &'static str, message: String, after: Option<Duration> },
    /// It never will.
    Refused { message: String },
}
