//! The connections that a listener holds: no more than it may in all, and none by one address alone.

use super::connection::Connection;
use super::{Limits, TrustedProxies};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Places {
    held: HashMap<u64, Arc<Connection>>,
    counts: Counts,
    next: u64,
}

impl Places {
    /// The place's number. None if there are as many as the limits allow.
    pub fn take(&mut self, connection: &Arc<Connection>, limits: &Limits) -> Option<u64> {
        if self.held.len() >= limits.max_connections || !self.counts.add(connection.peer.ip(), limits) {
            return None;
        }
        self.next += 1;
        self.held.insert(self.next, connection.clone());
        Some(self.next)
    }

    pub fn leave(&mut self, number: u64) {
        if let Some(connection) = self.held.remove(&number) {
            self.counts.remove(connection.peer.ip());
        }
    }

    pub fn len(&self) -> usize {
        self.held.len()
    }

    pub fn connections(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.held.values()
    }
}

/// How many connections each address holds.
#[derive(Default)]
struct Counts(HashMap<IpAddr, usize>);

impl Counts {
    fn add(&mut self, peer: IpAddr, limits: &Limits) -> bool {
        let address = network(peer);
        let held = self.0.get(&address).copied().unwrap_or(0);
        if held >= limits.max_connections_per_address && is_counted(peer, &limits.uncounted) {
            return false;
        }
        self.0.insert(address, held + 1);
        true
    }

    fn remove(&mut self, peer: IpAddr) {
        let address = network(peer);
        match self.0.get_mut(&address) {
            Some(held) if *held > 1 => *held -= 1,
            _ => drop(self.0.remove(&address)),
        }
    }
}

/// Who asks for many is not: the gateway of this machine, and proxies.
fn is_counted(peer: IpAddr, uncounted: &TrustedProxies) -> bool {
    !peer.to_canonical().is_loopback() && !uncounted.contains(peer)
}

/// The address that a limit counts: a client with one IPv6 address has all of its network.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(ip) => {
            let [a, b, c, d, ..] = ip.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_has_its_share_and_proxies_have_all() {
        let limits = Limits {
            max_connections_per_address: 2,
            uncounted: "10.0.0.0/8".parse().unwrap(),
            ..Limits::default()
        };
        let mut counts = Counts::default();
        let mut add = |address: &str| counts.add(address.parse().unwrap(), &limits);
        assert!(add("192.0.2.1") && add("::ffff:192.0.2.1") && !add("192.0.2.1"));
        assert!(add("192.0.2.2"), "another has its own");
        assert!(add("2001:db8::1") && add("2001:db8::2") && !add("2001:db8::3"), "a network is one address");
        assert!(add("2001:db8:0:1::1"));
        for address in ["127.0.0.1", "::1", "10.1.2.3"] {
            assert!((0..5).all(|_| add(address)), "{address}");
        }
    }

    #[test]
    fn a_place_that_is_left_can_be_taken_again() {
        let limits = Limits { max_connections_per_address: 1, ..Limits::default() };
        let mut counts = Counts::default();
        let peer = "192.0.2.1".parse().unwrap();
        for _ in 0..3 {
            assert!(counts.add(peer, &limits) && !counts.add(peer, &limits));
            counts.remove(peer);
        }
        assert!(counts.0.is_empty(), "nothing is remembered of those who left");
    }
}
