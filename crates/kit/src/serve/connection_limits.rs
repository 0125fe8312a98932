//! Limits on the connections of a listener: in total, and for each client address.

use super::connection::Connection;
use super::{Limits, TrustedProxies};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// The open connections of a listener, counted against its limits.
#[derive(Default)]
pub(super) struct ConnectionLimits {
    open: HashMap<u64, Arc<Connection>>,
    counts: Counts,
    next: u64,
}

impl ConnectionLimits {
    /// Adds a connection and returns its number; none if a limit is reached.
    pub fn add(&mut self, connection: &Arc<Connection>, limits: &Limits) -> Option<u64> {
        if self.open.len() >= limits.max_connections || !self.counts.add(connection.peer.ip(), limits) {
            return None;
        }
        self.next += 1;
        self.open.insert(self.next, connection.clone());
        Some(self.next)
    }

    pub fn remove(&mut self, number: u64) {
        if let Some(connection) = self.open.remove(&number) {
            self.counts.remove(connection.peer.ip());
        }
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.open.values()
    }
}

/// How many connections each address has.
#[derive(Default)]
struct Counts(HashMap<IpAddr, usize>);

impl Counts {
    fn add(&mut self, peer: IpAddr, limits: &Limits) -> bool {
        let address = network(peer);
        let count = self.0.get(&address).copied().unwrap_or(0);
        if count >= limits.max_connections_per_address && is_counted(peer, &limits.uncounted) {
            return false;
        }
        self.0.insert(address, count + 1);
        true
    }

    fn remove(&mut self, peer: IpAddr) {
        let address = network(peer);
        match self.0.get_mut(&address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.0.remove(&address)),
        }
    }
}

/// Returns whether the limit per address applies: not to this machine's gateway and not to proxies, which carry the
/// requests of many clients.
fn is_counted(peer: IpAddr, uncounted: &TrustedProxies) -> bool {
    !peer.to_canonical().is_loopback() && !uncounted.contains(peer)
}

/// Returns the address that a limit counts. For IPv6 it is the /64 network, all of which a client can use.
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
    fn an_address_has_a_limit_and_proxies_have_none() {
        let limits = Limits {
            max_connections_per_address: 2,
            uncounted: "10.0.0.0/8".parse().unwrap(),
            ..Limits::default()
        };
        let mut counts = Counts::default();
        let mut add = |address: &str| counts.add(address.parse().unwrap(), &limits);
        assert!(add("192.0.2.1") && add("::ffff:192.0.2.1") && !add("192.0.2.1"));
        assert!(add("192.0.2.2"), "another address has its own limit");
        assert!(add("2001:db8::1") && add("2001:db8::2") && !add("2001:db8::3"), "a network is one address");
        assert!(add("2001:db8:0:1::1"));
        for address in ["127.0.0.1", "::1", "10.1.2.3"] {
            assert!((0..5).all(|_| add(address)), "{address}");
        }
    }

    #[test]
    fn a_closed_connection_makes_room_for_another() {
        let limits = Limits { max_connections_per_address: 1, ..Limits::default() };
        let mut counts = Counts::default();
        let peer = "192.0.2.1".parse().unwrap();
        for _ in 0..3 {
            assert!(counts.add(peer, &limits) && !counts.add(peer, &limits));
            counts.remove(peer);
        }
        assert!(counts.0.is_empty(), "addresses without connections are not kept");
    }
}
