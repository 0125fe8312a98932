//! Which addresses may be asked. Private networks and this machine are refused unless the installation allows them:
//! a source must not be a way to read what only the server can reach. Stoa's own listeners are refused always.

use reqwest::Client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
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
    check_host(&url, environment)
        .map_err(|reason| ConnectError::new(format!("`{field}` is refused: {reason}")))?;
    Ok(url)
}

/// Refuses hosts that may not be asked, as far as the text tells.
pub(crate) fn check_host(url: &Url, environment: &Environment) -> Result<(), String> {
    let Some(host) = url.host() else { return Err(format!("{url} has no host")) };
    let check = |ip| check_addresses(&host.to_string(), &[SocketAddr::new(ip, port_of(url))], environment);
    match host {
        Host::Ipv4(address) => check(address.into()),
        Host::Ipv6(address) => check(address.into()),
        Host::Domain(name) => check_name(name, environment),
    }
}

/// As [`check_host`], for a host outside of an address: a name, or an address without brackets.
pub(crate) fn check_host_name(host: &str, port: u16, environment: &Environment) -> Result<(), String> {
    match host.parse() {
        Ok(ip) => check_addresses(host, &[SocketAddr::new(ip, port)], environment),
        Err(_) => check_name(host, environment),
    }
}

fn check_name(name: &str, environment: &Environment) -> Result<(), String> {
    if is_local_name(name) && !environment.allow_private_addresses {
        return Err(private_reason(name));
    }
    Ok(())
}

/// Refuses a host if any of its addresses may not be asked.
fn check_addresses(host: &str, addresses: &[SocketAddr], environment: &Environment) -> Result<(), String> {
    if !environment.allow_private_addresses && addresses.iter().any(|address| !is_public(address.ip())) {
        return Err(private_reason(host));
    }
    match addresses.iter().find(|address| environment.listeners.has(**address)) {
        Some(own) => Err(format!("{host} with port {} is an address of Stoa itself", own.port())),
        None => Ok(()),
    }
}

fn port_of(url: &Url) -> u16 {
    url.port_or_known_default().unwrap_or_default()
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Says why a host is refused.
fn private_reason(host: &str) -> String {
    format!("{host} is an address of a private network or of this machine")
}

/// Resolves a host, and refuses it if any of its addresses may not be asked. Connecting to what is returned cannot be
/// diverted by another answer of the name server.
pub(crate) async fn resolve(
    host: &str,
    port: u16,
    environment: &Environment,
) -> Result<Vec<SocketAddr>, String> {
    let resolved = tokio::time::timeout(RESOLVE_TIMEOUT, tokio::net::lookup_host((host, port))).await;
    let addresses: Vec<SocketAddr> = match resolved {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(error)) => return Err(format!("{host} is not found: {error}")),
        Err(_) => return Err(format!("{host} is not found: the name server does not answer")),
    };
    if addresses.is_empty() {
        return Err(format!("{host} has no address"));
    }
    check_addresses(host, &addresses, environment)?;
    Ok(addresses)
}

/// An HTTP client that connects to allowed addresses only, whatever the name server says at which time.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    client: Client,
    resolver: Arc<GuardedResolver>,
}

/// Resolves names for an HTTP client, which connects to what was checked.
#[derive(Debug)]
struct GuardedResolver {
    environment: Environment,
    /// The ports that hosts are asked at, which a client does not tell its resolver.
    ports: Mutex<HashMap<String, BTreeSet<u16>>>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (environment, ports) = (self.environment.clone(), self.ports_of(name.as_str()));
        Box::pin(async move {
            let addresses = resolve(name.as_str(), 0, &environment).await?;
            for port in ports {
                let at_port: Vec<SocketAddr> =
                    addresses.iter().map(|address| SocketAddr::new(address.ip(), port)).collect();
                check_addresses(name.as_str(), &at_port, &environment)?;
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

impl GuardedResolver {
    fn ports_of(&self, host: &str) -> BTreeSet<u16> {
        let ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        ports.get(host).cloned().unwrap_or_default()
    }
}

impl HttpClient {
    /// Creates a client that follows no redirects, and uses no proxy, which would resolve names itself.
    pub fn new(environment: &Environment) -> Result<HttpClient, ConnectError> {
        let resolver =
            Arc::new(GuardedResolver { environment: environment.clone(), ports: Mutex::default() });
        let client = Client::builder()
            .dns_resolver(resolver.clone())
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .user_agent(concat!("StoaBot/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ConnectError::new(format!("no HTTP client: {}", base::innermost(&error))))?;
        Ok(HttpClient { client, resolver })
    }

    /// Returns the client for a request to an address whose host was checked as [`check_host`] does. Fails if it is a name
    /// of something that may not be asked.
    pub async fn to(&self, address: &Url) -> Result<&Client, String> {
        if let (Some(Host::Domain(host)), port) = (address.host(), port_of(address))
            && !self.resolver.ports_of(host).contains(&port)
        {
            resolve(host, port, &self.resolver.environment).await?;
            let mut ports = self.resolver.ports.lock().unwrap_or_else(PoisonError::into_inner);
            ports.entry(host.to_owned()).or_default().insert(port);
        }
        Ok(&self.client)
    }
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
            assert!(parse_address("addresses", &address, &allowing_private()).is_ok(), "{address}");
        }
        assert!(parse_address("addresses", "https://example.org/", &Environment::default()).is_ok());
    }

    fn allowing_private() -> Environment {
        Environment { allow_private_addresses: true, ..Environment::default() }
    }

    #[test]
    fn the_own_listeners_are_refused_whatever_is_allowed() {
        let environment = allowing_private();
        environment.listeners.add("127.0.0.1:8082".parse().unwrap());
        environment.listeners.set_others(vec!["10.0.0.7:8082".parse().unwrap()]);
        for host in ["127.0.0.1", "0x7f.1", "[::ffff:7f00:1]", "0.0.0.0", "0", "[::]", "10.0.0.7"] {
            let refused = parse_address("addresses", &format!("http://{host}:8082/"), &environment);
            assert!(refused.is_err_and(|error| error.message.ends_with("Stoa itself")), "{host}");
            assert!(
                parse_address("addresses", &format!("http://{host}:8083/"), &environment).is_ok(),
                "{host}"
            );
        }
        environment.listeners.set_others(Vec::new());
        assert!(parse_address("addresses", "http://10.0.0.7:8082/", &environment).is_ok());
    }

    #[tokio::test]
    async fn a_name_of_an_own_listener_is_refused_at_its_port_alone() {
        let environment = allowing_private();
        environment.listeners.add("127.0.0.1:8082".parse().unwrap());
        let client = HttpClient::new(&environment).unwrap();
        let allowed = async |port: u16| {
            let address = format!("http://localhost:{port}/").parse().unwrap();
            client.to(&address).await.map(drop)
        };
        let refused = Err("localhost with port 8082 is an address of Stoa itself".to_owned());
        assert_eq!((allowed(8082).await, allowed(8083).await), (refused, Ok(())));
        // The name had another address when its port was checked.
        environment.listeners.add("127.0.0.1:8083".parse().unwrap());
        let resolved = client.resolver.resolve("localhost".parse().unwrap()).await.err().unwrap();
        assert_eq!(resolved.to_string(), "localhost with port 8083 is an address of Stoa itself");
    }

    #[tokio::test]
    async fn a_name_of_a_private_address_is_refused_when_it_is_resolved() {
        let refused = resolve("localhost", 80, &Environment::default()).await.unwrap_err();
        assert_eq!(refused, "localhost is an address of a private network or of this machine");
        let resolved = resolve("localhost", 80, &allowing_private()).await.unwrap();
        assert!(resolved.iter().all(|address| address.ip().is_loopback()));
    }
}
