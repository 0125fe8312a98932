//! Limits for guests: how many projects they keep, how many runs they start and have running, and what these store.
//!
//! Every client can become a guest, so all of this is counted, for each network address and in total.

use crate::tables;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;
use store::{StoreError, Tx};

const HOUR: Duration = Duration::from_secs(60 * 60);
/// The `Retry-After` of a guest who has to wait for a run to end.
const RUN_WAIT: Duration = Duration::from_secs(15);

/// The limits, each of them a setting.
#[derive(Clone, Debug)]
pub struct GuestLimits {
    /// Projects of one address that are kept.
    pub projects_per_address: u32,
    /// Projects of all guests together.
    pub projects: u32,
    /// Runs of one address that are running.
    pub runs_per_address: u32,
    /// Runs of all guests that are running.
    pub runs: u32,
    /// Runs that one address may start in an hour.
    pub starts_per_address: u32,
    /// Runs that all guests together may start in an hour.
    pub starts: u32,
    /// What runs of one address may store.
    pub mib_per_address: u32,
    /// What runs of all guests together may store.
    pub mib: u32,
    /// Characters of a seed.
    pub seed_characters: usize,
}

/// A guest, known by an IPv4 address or an IPv6 network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    pub address: String,
}

#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    #[error("{message}")]
    TooMany { message: String, wait: Duration },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Guest {
    /// Returns the guest at an address. A client with one IPv6 address has all 2⁶⁴ of its network.
    pub fn at(ip: IpAddr) -> Self {
        let address = match ip.to_canonical() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => {
                let [a, b, c, d, ..] = ip.segments();
                format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        };
        Self { address }
    }
}

impl GuestLimits {
    /// Refuses another project of a guest if there are too many, in the transaction that creates it.
    pub async fn check_projects(&self, tx: &mut Tx, guest: &Guest) -> Result<(), GuestError> {
        tables::guests::lock(tx).await?;
        let (own, all) = tables::guests::projects(tx, &guest.address).await?;
        let (most_own, most) = (self.projects_per_address, self.projects);
        let message = if own >= i64::from(most_own) {
            format!("guests at your address have made {most_own} projects, and no more are kept: sign in")
        } else if all >= i64::from(most) {
            format!("guests have made {most} projects, and no more are kept: sign in")
        } else {
            return Ok(());
        };
        Err(GuestError::TooMany { message, wait: HOUR })
    }

    /// Refuses another run of a guest if there are too many, or if runs have stored too much, in the transaction that
    /// starts it.
    pub async fn check_runs(&self, tx: &mut Tx, guest: &Guest) -> Result<(), GuestError> {
        tables::guests::lock(tx).await?;
        let hour_ago = tx.db().clock().now_ms() - HOUR.as_millis() as i64;
        let (own, all) = tables::guests::usage(tx, &guest.address, hour_ago).await?;
        let Self { runs_per_address, runs, starts_per_address, starts, mib_per_address, mib, .. } = self;
        let is_over = |used: i64, limit: &u32| used >= i64::from(*limit);
        let is_full = |bytes: i64, limit: &u32| bytes >= i64::from(*limit) << 20;
        let (message, wait) = if is_over(own.runs, runs_per_address) {
            (format!("a guest may have {runs_per_address} runs at work: wait until one has ended"), RUN_WAIT)
        } else if is_over(all.runs, runs) {
            (format!("guests may have {runs} runs at work in all: wait until one has ended"), RUN_WAIT)
        } else if is_over(own.starts, starts_per_address) {
            (format!("a guest may start {starts_per_address} runs an hour: wait, or sign in"), HOUR)
        } else if is_over(all.starts, starts) {
            (format!("guests may start {starts} runs an hour in all: wait, or sign in"), HOUR)
        } else if is_full(own.bytes, mib_per_address) {
            (format!("runs of guests at your address have stored {mib_per_address} MiB: sign in"), HOUR)
        } else if is_full(all.bytes, mib) {
            (format!("runs of guests have stored {mib} MiB, and no more is kept: sign in"), HOUR)
        } else {
            return Ok(());
        };
        Err(GuestError::TooMany { message, wait })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_is_one_guest() {
        for (ip, address) in [
            ("203.0.113.7", "203.0.113.7"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ] {
            assert_eq!(Guest::at(ip.parse().unwrap()).address, address);
        }
    }
}
