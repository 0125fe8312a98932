//! The interface to a CRM.

use crate::records::Lead;
use futures_util::future::BoxFuture;
use std::time::Duration;

/// A system that leads are sent to. It may get the same lead more than once, always with the same id.
pub trait Crm: Send + Sync {
    fn send<'a>(&'a self, lead: &'a Lead) -> BoxFuture<'a, Result<(), SendError>>;
}

/// Why a lead was not accepted.
#[derive(Debug, PartialEq, Eq)]
pub enum SendError {
    /// A retry may succeed, after a pause if the CRM asks for one.
    Later { cause: &'static str, message: String, after: Option<Duration> },
    /// A retry cannot succeed.
    Refused { message: String },
}
