//! One target: its address, its idle connections, and whether it has been failing.

use super::connection::UpstreamConnection;
use base::Clock;
use http::uri::{Authority, Uri};
use kit::serve::worker_index;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The address of a target: `http://host[:port][/base]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetUrl {
    authority: Authority,
    base: String,
}

impl std::str::FromStr for TargetUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("`{text}` is not a target: expected `http://host[:port][/path]`");
        let uri: Uri = text.parse().map_err(|_| wanted())?;
        let plain = uri.scheme_str() == Some("http") && uri.query().is_none();
        let authority = uri.authority().filter(|authority| plain && !authority.as_str().contains('@'));
        let authority = authority.filter(|authority| !authority.host().is_empty()).ok_or_else(wanted)?;
        Ok(Self { authority: authority.clone(), base: uri.path().trim_end_matches('/').to_owned() })
    }
}

impl std::fmt::Display for TargetUrl {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "http://{}{}", self.authority, self.base)
    }
}

impl TargetUrl {
    pub async fn connect(&self) -> std::io::Result<TcpStream> {
        let host = self.authority.host().trim_start_matches('[').trim_end_matches(']');
        let connecting = TcpStream::connect((host, self.authority.port_u16().unwrap_or(80)));
        timeout(CONNECT_TIMEOUT, connecting).await?
    }
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Shorter than servers usually keep an idle connection, so that few are closed when they are used again.
const MAX_IDLE: Duration = Duration::from_secs(30);
const MAX_IDLE_CONNECTIONS: usize = 1024;
const IDLE_SHARDS: usize = 16;
/// Broken exchanges in a row after which a target is avoided. One refused connection is enough; an exchange may also break
/// for reasons of its own.
const BROKEN_EXCHANGES_TO_BE_DOWN: u32 = 3;
const MAX_DOWN_MS: i64 = 30_000;

type Idle = Vec<Box<UpstreamConnection>>;

pub struct Target {
    pub url: TargetUrl,
    busy: AtomicUsize,
    /// By thread: a connection is woken by the thread that opened it.
    idle: [Mutex<Idle>; IDLE_SHARDS],
    failures: AtomicU32,
    down_until_ms: AtomicI64,
    clock: Clock,
}

impl Target {
    pub fn new(url: TargetUrl, clock: Clock) -> Self {
        Self {
            url,
            busy: AtomicUsize::new(0),
            idle: std::array::from_fn(|_| Mutex::default()),
            failures: AtomicU32::new(0),
            down_until_ms: AtomicI64::new(0),
            clock,
        }
    }

    pub fn host(&self) -> &str {
        self.url.authority.as_str()
    }

    pub fn base(&self) -> &str {
        &self.url.base
    }

    pub fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    pub fn is_down(&self, now_ms: i64) -> bool {
        let left = self.down_until_ms.load(Ordering::Relaxed) - now_ms;
        // Longer if the clock was set back.
        (1..=MAX_DOWN_MS).contains(&left)
    }

    /// Returns an idle connection, or a new one if there is none or a `fresh` one is wanted.
    pub async fn lease(self: &Arc<Self>, fresh: bool) -> std::io::Result<Lease> {
        let target = Busy::new(self.clone());
        if !fresh {
            while let Some(mut connection) = self.take_idle() {
                if connection.is_alive().await {
                    return Ok(Lease { target, connection, reused: true });
                }
            }
        }
        match Box::pin(self.url.connect()).await {
            Ok(socket) => {
                Ok(Lease { target, connection: Box::new(UpstreamConnection::new(socket)), reused: false })
            }
            Err(error) => {
                self.failed(1);
                tracing::warn!(target = %self.url, %error, "a target cannot be reached");
                Err(error)
            }
        }
    }

    fn take_idle(&self) -> Option<Box<UpstreamConnection>> {
        self.idle().pop()
    }

    fn put_back(&self, connection: Box<UpstreamConnection>) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE_CONNECTIONS {
            idle.push(connection);
        }
    }

    /// Closes connections that have been idle for too long.
    pub fn close_old_connections(&self) {
        for shard in &self.idle {
            let mut idle = shard.lock().unwrap_or_else(PoisonError::into_inner);
            idle.retain(|connection| connection.used_at().elapsed() < MAX_IDLE);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle[worker_index() % IDLE_SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn answered(&self) {
        if self.failures.load(Ordering::Relaxed) > 0 {
            self.failures.store(0, Ordering::Relaxed);
            self.down_until_ms.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that a connection broke, or that an answer did not come.
    pub fn exchange_failed(&self) {
        self.failed(BROKEN_EXCHANGES_TO_BE_DOWN);
    }

    /// Avoids the target for 1 s after `tolerated` failures in a row, and twice as long after each further one.
    fn failed(&self, tolerated: u32) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(beyond) = failures.checked_sub(tolerated) {
            let down_ms = (1000i64 << beyond.min(5)).min(MAX_DOWN_MS);
            self.down_until_ms.store(self.clock.now_ms() + down_ms, Ordering::Relaxed);
        }
    }
}

/// A target that counts as busier until this is dropped.
pub struct Busy(Arc<Target>);

impl Busy {
    fn new(target: Arc<Target>) -> Self {
        target.busy.fetch_add(1, Ordering::Relaxed);
        Self(target)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::ops::Deref for Busy {
    type Target = Target;

    fn deref(&self) -> &Target {
        &self.0
    }
}

/// A connection in use.
pub struct Lease {
    pub target: Busy,
    /// Boxed: it is large, and is moved between the pool and the requests.
    pub connection: Box<UpstreamConnection>,
    pub reused: bool,
}

impl Lease {
    /// Puts the connection back after an exchange, if it can carry another one.
    pub fn finish(self) {
        if self.connection.can_be_kept() {
            self.target.put_back(self.connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_urls_are_plain_http_with_an_optional_base() {
        for (text, shown) in [
            ("http://127.0.0.1:8081", "http://127.0.0.1:8081"),
            ("http://worker:8081/", "http://worker:8081"),
            ("http://worker/base/path/", "http://worker/base/path"),
            ("http://[::1]:8081", "http://[::1]:8081"),
        ] {
            assert_eq!(text.parse::<TargetUrl>().unwrap().to_string(), shown);
        }
        for text in
            ["", "worker:8081", "https://worker", "ftp://worker", "http://", "http://a@b", "http://a?b"]
        {
            assert!(text.parse::<TargetUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_failing_target_is_left_out_for_longer_each_time_and_forgiven_at_once() {
        let clock = Clock::fixed(0);
        let target = Target::new("http://127.0.0.1:1".parse().unwrap(), clock.clone());
        let down_for = |target: &Target| (0..40).take_while(|second| target.is_down(second * 1000)).count();
        target.exchange_failed();
        target.exchange_failed();
        assert_eq!(down_for(&target), 0, "twice may happen");
        target.exchange_failed();
        assert_eq!(down_for(&target), 1);
        target.exchange_failed();
        assert_eq!(down_for(&target), 2);
        (0..10).for_each(|_| target.exchange_failed());
        assert_eq!(down_for(&target), 30);
        target.answered();
        assert_eq!(down_for(&target), 0);
        target.failed(1);
        assert_eq!(down_for(&target), 1, "one refused connection is enough");
    }
}
