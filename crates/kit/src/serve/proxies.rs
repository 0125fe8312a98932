//! Trusted proxies, and the client's address behind them.

use super::arrival::X_FORWARDED_FOR;
use http::HeaderMap;
use std::net::{IpAddr, SocketAddr};

/// The proxies whose headers about the client are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(pub Vec<(IpAddr, u8)>);

impl TrustedProxies {
    pub fn contains(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        self.0.iter().any(|(network, bits)| match (network, ip) {
            (IpAddr::V4(network), IpAddr::V4(ip)) => same_prefix(&network.octets(), &ip.octets(), *bits),
            (IpAddr::V6(network), IpAddr::V6(ip)) => same_prefix(&network.octets(), &ip.octets(), *bits),
            _ => false,
        })
    }

    /// Returns the nearest address that is not a trusted proxy.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.contains(peer) {
            return peer;
        }
        let listed = headers.get_all(X_FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
        let addresses: Vec<IpAddr> = listed.flat_map(|list| list.split(',')).filter_map(address).collect();
        addresses.into_iter().rev().find(|ip| !self.contains(*ip)).unwrap_or(peer)
    }
}

/// Parses an address; some proxies add a port.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    text.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

fn same_prefix(network: &[u8], address: &[u8], bits: u8) -> bool {
    let (whole, rest) = (usize::from(bits / 8), bits % 8);
    let mask = !(0xffu8 >> rest);
    network[..whole] == address[..whole] && (rest == 0 || network[whole] & mask == address[whole] & mask)
}

impl std::str::FromStr for TrustedProxies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let networks = entries.map(|entry| {
            let (address, bits) = entry.split_once('/').unwrap_or((entry, ""));
            let address: Option<IpAddr> = address.parse().ok();
            let longest = if address.is_some_and(|ip| ip.is_ipv4()) { 32 } else { 128 };
            let bits = if bits.is_empty() { Some(longest) } else { bits.parse().ok() };
            address
                .zip(bits.filter(|bits| *bits <= longest))
                .ok_or(format!("`{entry}` is not an address or network: expected `10.0.0.1` or `10.0.0.0/8`"))
        });
        networks.collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_what_they_say() {
        let trusted: TrustedProxies = "10.0.0.0/9, 192.168.1.7, fd00::/8".parse().unwrap();
        for inside in ["10.127.255.255", "192.168.1.7", "fdab::1", "::ffff:10.1.2.3"] {
            assert!(trusted.contains(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["10.128.0.0", "192.168.1.8", "fe80::1", "127.0.0.1"] {
            assert!(!trusted.contains(outside.parse().unwrap()), "{outside}");
        }
        assert!("0.0.0.0/0".parse::<TrustedProxies>().unwrap().contains("8.8.8.8".parse().unwrap()));
        for bad in ["10.0.0.0/33", "x", "10.0.0.0/-1", "10.0.0"] {
            assert!(bad.parse::<TrustedProxies>().is_err(), "{bad}");
        }
    }
}
