//! What every crate may need: clock, randomness, ids, durations, tokens. Knows nothing of HTTP, storage or services.

mod clock;
mod random;
pub mod token;

pub use clock::{Clock, duration, iso8601};
pub use random::{Random, hex};
