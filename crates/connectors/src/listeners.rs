//! Where Stoa itself listens. What a person names is never asked there: Stoa would be the caller, and services trust
//! programs of their own machine more than the person.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, PoisonError, RwLock};

/// The addresses that this process and others of the same installation listen on. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Listeners(Arc<RwLock<Known>>);

#[derive(Debug, Default)]
struct Known {
    own: Vec<SocketAddr>,
    others: Vec<SocketAddr>,
}

impl Listeners {
    /// Adds an address that this process listens on.
    pub fn add(&self, address: SocketAddr) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).own.push(address);
    }

    /// Replaces the addresses that other processes listen on. Each counts as one of this machine.
    pub fn set_others(&self, addresses: Vec<SocketAddr>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).others = addresses;
    }

    /// Returns whether a connection to `target` would reach one of them.
    pub(crate) fn has(&self, target: SocketAddr) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.own.iter().chain(&known.others).any(|listener| reaches(target, *listener))
    }
}

fn reaches(target: SocketAddr, listener: SocketAddr) -> bool {
    let (to, at) = (target.ip().to_canonical(), listener.ip().to_canonical());
    // A connection to `0.0.0.0` or `::` goes to this machine.
    target.port() == listener.port()
        && (to == at || to.is_unspecified() || (at.is_unspecified() && is_of_this_machine(to)))
}

/// Returns whether this machine has an address. If the system does not tell, it counts as one.
fn is_of_this_machine(address: IpAddr) -> bool {
    let is_foreign = |error: std::io::Error| error.kind() == std::io::ErrorKind::AddrNotAvailable;
    address.is_loopback() || !UdpSocket::bind((address, 0)).is_err_and(is_foreign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_known_by_every_address_that_reaches_it() {
        let reaches =
            |target: &str, listener: &str| reaches(target.parse().unwrap(), listener.parse().unwrap());
        for target in
            ["127.0.0.1:80", "[::ffff:127.0.0.1]:80", "0.0.0.0:80", "[::]:80", "[::ffff:0.0.0.0]:80"]
        {
            assert!(reaches(target, "127.0.0.1:80"), "{target}");
            assert!(!reaches(target, "127.0.0.1:81"), "{target}");
        }
        for target in ["127.0.0.2:80", "[::1]:80", "192.0.2.1:80"] {
            assert!(!reaches(target, "127.0.0.1:80"), "{target}");
        }
        for target in ["127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "0.0.0.0:80"] {
            assert!(reaches(target, "0.0.0.0:80") && reaches(target, "[::]:80"), "{target}");
        }
        assert!(!reaches("192.0.2.1:80", "0.0.0.0:80"));
        assert!(reaches("192.0.2.1:80", "[::ffff:192.0.2.1]:80"));
    }

    #[test]
    fn an_address_of_an_interface_is_of_this_machine() {
        // Connecting sends nothing: it only chooses the address that packets would come from.
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        let own = match socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr()) {
            Ok(own) => own.ip(),
            Err(_) => return,
        };
        assert!(is_of_this_machine(own), "{own}");
        assert!(!is_of_this_machine("192.0.2.1".parse().unwrap()));
    }
}
