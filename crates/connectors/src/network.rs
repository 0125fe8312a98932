//! Which addresses may be asked. Private networks and this machine are refused unless the installation allows them:
//! a source must not be a way to read what only the server can reach.

use reqwest::Client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use url::{Host, Url};

use crate::{ConnectError, Environment};

const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest pause within an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns an address of the web that a person has named in `field`.
pub(crate) fn parse_address(field: &str, text: &str, environment: &Environment) -> Result<Url, ConnectError> {
    let wanted = || ConnectError::new(format!("`{field}` is not an http or https address: {text}"));
    let url = Url::parse(text).map_err(|_| wanted())?;
    if !matches!(url.scheme(), "http" | "https") || text.contains(char::is_whitespace) {
        return Err(wanted());
    }
    // Not repeated in the message: it may be the password.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ConnectError::new(format!("`{field}` has a user name or password in its address")));
    }
    check_host(&url, environment.allow_private_addresses)
        .map_err(|reason| ConnectError::new(format!("`{field}` is refused: {reason}")))?;
    Ok(url)
}

/// Refuses hosts that are private as far as the text tells.
pub(crate) fn check_host(url: &Url, allow_private: bool) -> Result<(), String> {
    match url.host() {
        None => Err(format!("{url} has no host")),
        Some(_) if allow_private => Ok(()),
        Some(Host::Ipv4(address)) if is_public_v4(address) => Ok(()),
        Some(Host::Ipv6(address)) if is_public_v6(address) => Ok(()),
        Some(Host::Domain(name)) if !is_local_name(name) => Ok(()),
        Some(host) => Err(private_reason(&host.to_string())),
    }
}

/// As [`check_host`], for a host outside of an address: a name, or an address without brackets.
pub(crate) fn check_host_name(host: &str, allow_private: bool) -> Result<(), String> {
    let is_refused = match host.parse() {
        Ok(address) => !is_public(address),
        Err(_) => is_local_name(host),
    };
    if is_refused && !allow_private { Err(private_reason(host)) } else { Ok(()) }
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Says why a host is refused.
fn private_reason(host: &str) -> String {
    format!("{host} is an address of a private network or of this machine")
}

/// Resolves a host, and refuses it if any of its addresses is private. Connecting to what is returned cannot be
/// diverted by another answer of the name server.
pub(crate) async fn resolve(host: &str, port: u16, allow_private: bool) -> Result<Vec<SocketAddr>, String> {
    let resolved = tokio::time::timeout(RESOLVE_TIMEOUT, tokio::net::lookup_host((host, port))).await;
    let addresses: Vec<SocketAddr> = match resolved {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(error)) => return Err(format!("{host} is not found: {error}")),
        Err(_) => return Err(format!("{host} is not found: the name server does not answer")),
    };
    if addresses.is_empty() {
        return Err(format!("{host} has no address"));
    }
    if !allow_private && addresses.iter().any(|address| !is_public(address.ip())) {
        return Err(private_reason(host));
    }
    Ok(addresses)
}

/// Resolves names for an HTTP client, which connects to what was checked.
struct GuardedResolver {
    allow_private: bool,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_private = self.allow_private;
        Box::pin(async move {
            let addresses = resolve(name.as_str(), 0, allow_private).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Creates an HTTP client that resolves names as [`resolve`] does. It follows no redirects, and uses no proxy, which
/// would resolve names itself. Addresses with numbers are left to the caller.
pub(crate) fn client(environment: &Environment) -> Result<Client, ConnectError> {
    let resolver = GuardedResolver { allow_private: environment.allow_private_addresses };
    Client::builder()
        .dns_resolver(std::sync::Arc::new(resolver))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .user_agent(concat!("StoaBot/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| ConnectError::new(format!("no HTTP client: {}", base::innermost(&error))))
}

pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        // This network; shared address space of providers; reserved, and broadcast.
        [0, ..] | [100, 64..=127, ..] | [240..=255, ..] => true,
        // Protocol assignments; the former 6to4 relays; benchmarks.
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] => true,
        _ => false,
    };
    !special
        && !address.is_loopback()
        && !address.is_private()
        && !address.is_link_local()
        && !address.is_multicast()
        && !address.is_documentation()
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, _, _, _, seventh, eighth] = address.segments();
    let embedded = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    match (first, second) {
        // Translated to IPv4, by NAT64 and by 6to4.
        (0x64, 0xff9b) => third == 0 && is_public_v4(embedded(seventh, eighth)),
        (0x2002, _) => is_public_v4(embedded(second, third)),
        // Teredo and other protocol assignments; documentation.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => false,
        // All that is assigned to the public; what is local or special is outside of it.
        _ => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_only_the_server_can_reach_are_not_public() {
        let private = [
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "3fff::1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2001::1",
            "100::1",
        ];
        for address in private {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        let public = [
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "::ffff:8.8.8.8",
            "2606:4700::1111",
            "2a00:1450::1",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ];
        for address in public {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn other_spellings_of_this_machine_are_refused() {
        for host in [
            "127.1",
            "2130706433",
            "0x7f.1",
            "0177.0.0.1",
            "[::1]",
            "[::ffff:7f00:1]",
            "localhost",
            "a.LOCALHOST.",
        ] {
            let address = format!("http://{host}/");
            let refused = parse_address("addresses", &address, &Environment::default());
            assert!(refused.is_err_and(|error| error.message.contains("private")), "{address}");
            let allowed = Environment { allow_private_addresses: true, ..Environment::default() };
            assert!(parse_address("addresses", &address, &allowed).is_ok(), "{address}");
        }
        assert!(parse_address("addresses", "https://example.org/", &Environment::default()).is_ok());
    }

    #[tokio::test]
    async fn a_name_of_a_private_address_is_refused_when_it_is_resolved() {
        let refused = resolve("localhost", 80, false).await.unwrap_err();
        assert_eq!(refused, "localhost is an address of a private network or of this machine");
        assert!(
            resolve("localhost", 80, true).await.unwrap().iter().all(|address| address.ip().is_loopback())
        );
    }
}
