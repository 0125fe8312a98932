//! The limits on clients: times, sizes and numbers, the same for every service.

use super::TrustedProxies;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Limits {
    /// From the first byte of a request (or the connection's start) to the end of its headers.
    pub header_timeout: Duration,
    /// How long a connection may stay open between requests.
    pub idle_timeout: Duration,
    /// How long a body may be behind [`Limits::MIN_BODY_RATE`], and the longest pause in it.
    pub body_timeout: Duration,
    /// How long a client may leave a response unread.
    pub write_timeout: Duration,
    /// How long connections get to finish when the process is asked to stop.
    pub drain_timeout: Duration,
    pub max_connections: usize,
    pub max_connections_per_address: usize,
    /// Proxies to which the limit per address does not apply, beside this machine.
    pub uncounted: TrustedProxies,
}

impl Limits {
    pub const MAX_HEAD_BYTES: usize = 32 * 1024;
    /// hyper's parser has space for this many on its stack.
    pub const MAX_HEADERS: usize = 100;
    /// Bytes per second that a body must have on average; slower ones use up `body_timeout`.
    pub const MIN_BODY_RATE: u64 = 512;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(10),
            max_connections: 8192,
            max_connections_per_address: 1024,
            uncounted: TrustedProxies::default(),
        }
    }
}
