//! What every service of Stoa shares: serving, errors, tokens, clock, ids. Knows no service.

mod clock;
pub mod error;
pub mod fields;
pub mod headers;
pub mod health;
pub mod json;
pub mod log;
pub mod metrics;
pub mod ops;
mod random;
pub mod request;
pub mod serve;
pub mod sse;
pub mod token;

pub use clock::{Clock, duration, iso8601};
pub use random::{Random, hex};
