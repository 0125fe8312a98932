//! What every crate may need: clock, randomness, ids, durations, backoff, addresses, tokens. Knows nothing of HTTP
//! requests, storage or services.

mod backoff;
mod clock;
mod email;
mod random;
mod text;
pub mod token;
pub mod web;

pub use backoff::Backoff;
pub use clock::{Clock, duration, iso8601};
pub use email::{LONGEST_EMAIL, split_email};
pub use random::{Random, hex};
pub use text::{innermost, line_at};
