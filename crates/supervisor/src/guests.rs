//! Limits for guests: how many projects they create and keep, and how many of their runs are running.
//!
//! Every client can become a guest, so their projects and runs are counted, for each network address and in total.

use crate::tables;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;
use store::{Db, StoreError, Tx, rate};

const HOUR: Duration = Duration::from_secs(60 * 60);
/// The `Retry-After` of a guest who has to wait for a run to end.
const RUN_WAIT: Duration = Duration::from_secs(15);

/// The limits, each of them a setting.
#[derive(Clone, Debug)]
pub struct GuestLimits {
    /// Projects that one address may create in an hour.
    pub projects_per_hour: u32,
    /// Projects of all guests together.
    pub projects: u32,
    /// Runs of one address that are running.
    pub runs_per_address: u32,
    /// Runs of all guests that are running.
    pub runs: u32,
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
    /// Counts a project that is about to be created.
    pub async fn count_project(&self, db: &Db, guest: &Guest) -> Result<(), GuestError> {
        let most = self.projects_per_hour;
        let key = format!("supervisor:guest-projects:{}", guest.address);
        let hit = rate::hit(db, &key, i64::from(most), HOUR).await?;
        if hit.allowed {
            return Ok(());
        }
        let wait = hit.reset_at_ms.saturating_sub(db.clock().now_ms()).max(0).unsigned_abs();
        Err(GuestError::TooMany {
            message: format!("a guest may make {most} projects an hour: wait, or sign in"),
            wait: Duration::from_millis(wait),
        })
    }

    /// Refuses another project of a guest if there are too many, in the transaction that creates it.
    pub async fn check_projects(&self, tx: &mut Tx) -> Result<(), GuestError> {
        tables::guests::lock(tx).await?;
        let most = self.projects;
        if tables::guests::projects(tx).await? < i64::from(most) {
            return Ok(());
        }
        Err(GuestError::TooMany {
            message: format!("guests have made {most} projects, and no more are kept: sign in"),
            wait: HOUR,
        })
    }

    /// Refuses another run of a guest if too many are running, in the transaction that starts it.
    pub async fn check_runs(&self, tx: &mut Tx, guest: &Guest) -> Result<(), GuestError> {
        tables::guests::lock(tx).await?;
        let (own, all) = tables::guests::runs(tx, &guest.address).await?;
        let message = if own >= i64::from(self.runs_per_address) {
            format!("a guest may have {} runs at work: wait until one has ended", self.runs_per_address)
        } else if all >= i64::from(self.runs) {
            format!("guests may have {} runs at work in all: wait until one has ended", self.runs)
        } else {
            return Ok(());
        };
        Err(GuestError::TooMany { message, wait: RUN_WAIT })
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
