//! What every service of Stoa shares: serving, errors, tokens, clock, ids. Knows no service.

mod clock;
pub mod error;
pub mod fields;
pub mod guests;
pub mod headers;
pub mod health;
mod html;
pub mod json;
pub mod log;
pub mod metrics;
pub mod ops;
pub mod page;
mod random;
pub mod request;
pub mod serve;
pub mod sse;
pub mod token;

pub use clock::{Clock, duration, iso8601};
pub use html::escape_html;
pub use random::{Random, hex};
