//! Requests to web servers: every hop of a redirect is checked, robots.txt is obeyed, and no host is asked more often
//! than it should be.

use reqwest::header::{HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, LOCATION};
use reqwest::{Response, StatusCode};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};
use url::Url;

use super::robots::{self, Rules};
use super::state::State;
use crate::network::{self, HttpClient};
use crate::{ConnectError, Environment};

const MOST_REDIRECTS: usize = 5;
/// From the request to the end of the answer's headers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The most hosts, and bytes of their rules, that are remembered. A host that is asked again after that is a new one.
const MAX_HOSTS: usize = 1_000;
const MAX_RULES_BYTES: usize = 16 << 20;
const ROBOTS_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct Fetcher {
    client: HttpClient,
    environment: Environment,
    /// An origin of this machine that plays a public one.
    #[cfg(test)]
    public: String,
    /// Between two requests to one host.
    delay: Duration,
    hosts: HashMap<String, Host>,
}

/// What is known of one scheme, host and port.
#[derive(Clone)]
struct Host {
    /// Or why the host is not read this time.
    rules: Result<Arc<Rules>, String>,
    next_request: Instant,
}

/// An answer of any status but a redirect.
pub(super) struct Fetched {
    pub response: Response,
    /// After redirects.
    pub address: Url,
}

#[derive(Debug)]
pub(super) enum FetchError {
    /// robots.txt does not allow it.
    Disallowed(String),
    /// This address is at fault.
    Refused(String),
    /// The server was reached, and did not answer this time.
    Unanswered(String),
    /// The host cannot be reached, or not be read without its robots.txt.
    Unreachable(String),
}

impl FetchError {
    pub fn message(self) -> String {
        match self {
            FetchError::Disallowed(message)
            | FetchError::Refused(message)
            | FetchError::Unanswered(message)
            | FetchError::Unreachable(message) => message,
        }
    }
}

impl Fetcher {
    pub fn new(environment: &Environment, delay: Duration) -> Result<Fetcher, ConnectError> {
        Ok(Fetcher {
            client: HttpClient::new(environment)?,
            environment: environment.clone(),
            #[cfg(test)]
            public: String::new(),
            delay,
            hosts: HashMap::new(),
        })
    }

    /// Requests a page and follows redirects. If it is as `known` says, the answer is 304.
    pub async fn get(&mut self, address: &Url, known: &State) -> Result<Fetched, FetchError> {
        let mut address = address.clone();
        for _ in 0..=MOST_REDIRECTS {
            self.check_robots(&address).await?;
            self.wait_for_turn(&address).await;
            let response = self.request(&address, conditions(&address, known)).await?;
            match redirect(&response, &address)? {
                Some(next) => address = next,
                None => return Ok(Fetched { response, address }),
            }
        }
        Err(FetchError::Refused(format!("it redirects more than {MOST_REDIRECTS} times")))
    }

    /// Returns the rules of the hosts whose robots.txt was read.
    pub fn known_rules(&self) -> KnownRules {
        let known = self.hosts.iter().filter_map(|(origin, host)| {
            let rules = host.rules.as_ref().ok()?;
            Some((origin.clone(), Arc::clone(rules)))
        });
        KnownRules(known.collect())
    }

    async fn check_robots(&mut self, address: &Url) -> Result<(), FetchError> {
        self.check_host(address)?;
        if !self.hosts.contains_key(&origin(address)) {
            let rules = match timeout(ROBOTS_TIMEOUT, self.fetch_robots(address)).await {
                Ok(Err(FetchError::Refused(reason))) => return Err(FetchError::Refused(reason)),
                Ok(rules) => rules.map(Arc::new).map_err(FetchError::message),
                Err(_) => Err("robots.txt takes too long".to_owned()),
            };
            self.make_room(rules.as_ref().map_or(0, |rules| rules.bytes()));
            self.hosts.insert(origin(address), Host { rules, next_request: Instant::now() });
            self.take_turn(address);
        }
        match &self.hosts[&origin(address)].rules {
            Ok(rules) if rules.allow(path_and_query(address)) => Ok(()),
            Ok(_) => {
                Err(FetchError::Disallowed(format!("robots.txt of {} does not allow it", host(address))))
            }
            Err(reason) => Err(FetchError::Unreachable(reason.clone())),
        }
    }

    /// Forgets the hosts that were asked longest ago, until there is room for another one.
    fn make_room(&mut self, bytes: usize) {
        let bytes_of = |host: &Host| host.rules.as_ref().map_or(0, |rules| rules.bytes());
        let mut held: usize = self.hosts.values().map(bytes_of).sum();
        while !self.hosts.is_empty() && (held + bytes > MAX_RULES_BYTES || self.hosts.len() >= MAX_HOSTS) {
            let oldest = self.hosts.iter().min_by_key(|(_, host)| host.next_request);
            let Some((origin, bytes)) = oldest.map(|(origin, host)| (origin.clone(), bytes_of(host))) else {
                return;
            };
            self.hosts.remove(&origin);
            held -= bytes;
        }
    }

    /// Reads the rules of a host. None apply if it has no robots.txt.
    async fn fetch_robots(&self, address: &Url) -> Result<Rules, FetchError> {
        let unreadable =
            |reason: String| FetchError::Unreachable(format!("robots.txt of {}: {reason}", host(address)));
        let mut hop = address.join("/robots.txt").map_err(|error| unreadable(error.to_string()))?;
        for _ in 0..=MOST_REDIRECTS {
            self.check_host(&hop)?;
            let mut response = self.request(&hop, HeaderMap::new()).await?;
            if let Some(next) = redirect(&response, &hop)? {
                hop = next;
                continue;
            }
            let status = response.status();
            if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
                return Err(unreadable(format!("the server answers {status}")));
            }
            if !status.is_success() {
                return Ok(Rules::default());
            }
            let text = first_bytes(&mut response, robots::MOST_BYTES).await.map_err(unreadable)?;
            return Ok(Rules::parse(&String::from_utf8_lossy(&text)));
        }
        // RFC 9309 lets a robots.txt that is not found in five redirects count as absent.
        Ok(Rules::default())
    }

    fn check_host(&self, address: &Url) -> Result<(), FetchError> {
        #[cfg(test)]
        if origin(address) == self.public {
            return Ok(());
        }
        network::check_host(address, &self.environment).map_err(FetchError::Refused)
    }

    async fn request(&self, address: &Url, headers: HeaderMap) -> Result<Response, FetchError> {
        let unreachable = |reason: String| {
            FetchError::Unreachable(format!("{} cannot be reached: {reason}", host(address)))
        };
        let client = self.client.to(address).await.map_err(unreachable)?;
        match timeout(ANSWER_TIMEOUT, client.get(address.clone()).headers(headers).send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() => Err(unreachable(base::innermost(&error))),
            Ok(Err(error)) => {
                let reason = base::innermost(&error);
                Err(FetchError::Unanswered(format!("{} does not answer: {reason}", host(address))))
            }
            Err(_) => Err(FetchError::Unanswered(format!("{} does not answer", host(address)))),
        }
    }

    async fn wait_for_turn(&mut self, address: &Url) {
        if let Some(host) = self.hosts.get(&origin(address)) {
            sleep_until(host.next_request).await;
        }
        self.take_turn(address);
    }

    fn take_turn(&mut self, address: &Url) {
        if let Some(host) = self.hosts.get_mut(&origin(address)) {
            let asked = host.rules.as_ref().map_or(Duration::ZERO, |rules| rules.delay);
            host.next_request = Instant::now() + self.delay.max(asked);
        }
    }
}

/// The rules of some hosts.
pub(super) struct KnownRules(HashMap<String, Arc<Rules>>);

impl KnownRules {
    /// Returns whether an address may be read, as far as the rules of its host are known.
    pub fn allow(&self, address: &Url) -> bool {
        self.0.get(&origin(address)).is_none_or(|rules| rules.allow(path_and_query(address)))
    }
}

/// Returns the headers that make the server answer 304 for an unchanged page.
fn conditions(address: &Url, known: &State) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if known.address != address.as_str() {
        return headers;
    }
    if let Some(etag) = known.etag.parse().ok().filter(|_| !known.etag.is_empty()) {
        headers.insert(IF_NONE_MATCH, etag);
    }
    if let Some(modified) = known.modified.parse().ok().filter(|_| !known.modified.is_empty()) {
        headers.insert(IF_MODIFIED_SINCE, modified);
    }
    headers
}

fn redirect(response: &Response, address: &Url) -> Result<Option<Url>, FetchError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let next = location.and_then(|location| super::page::resolved(address, location));
    let refused =
        || FetchError::Refused("it redirects to something that is no http or https address".to_owned());
    next.map(Some).ok_or_else(refused)
}

/// Returns the start of an answer's body, or all of it.
pub(super) async fn first_bytes(response: &mut Response, most: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while bytes.len() < most {
        match response.chunk().await {
            Ok(Some(piece)) => bytes.extend_from_slice(&piece),
            Ok(None) => break,
            Err(error) => return Err(base::innermost(&error)),
        }
    }
    Ok(bytes)
}

fn origin(address: &Url) -> String {
    address.origin().ascii_serialization()
}

pub(super) fn host(address: &Url) -> &str {
    address.host_str().unwrap_or_default()
}

fn path_and_query(address: &Url) -> &str {
    &address[url::Position::BeforePath..url::Position::AfterQuery]
}

#[cfg(test)]
#[path = "../../tests/peers/site.rs"]
#[expect(dead_code, reason = "the tests of the connectors use all of it")]
pub(super) mod site;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the answer to `/` of a public site, and what a private one was asked.
    async fn from_public_to(location: &str, robots_location: &str) -> (Result<u16, String>, usize) {
        let (public, private) = (site::Site::start().await, site::Site::start().await);
        private.html("/", "<p>secret");
        let port = private.address.rsplit(':').next().unwrap().to_owned();
        public.redirect("/", &location.replace("PORT", &port));
        if !robots_location.is_empty() {
            public.redirect("/robots.txt", &robots_location.replace("PORT", &port));
        }
        let mut fetcher = Fetcher::new(&Environment::default(), Duration::ZERO).unwrap();
        fetcher.public = public.address.clone();
        let fetched = fetcher.get(&public.url("/").parse().unwrap(), &State::default()).await;
        let status = fetched.map(|fetched| fetched.response.status().as_u16());
        (status.map_err(FetchError::message), private.requests().len())
    }

    #[tokio::test]
    async fn a_redirect_to_a_private_address_is_not_followed() {
        let refused =
            |host: &str| Err(format!("{host} is an address of a private network or of this machine"));
        for (location, robots, host) in [
            ("http://127.0.0.1:PORT/", "", "127.0.0.1"),
            ("http://0x7f000001:PORT/", "", "127.0.0.1"),
            ("http://[::ffff:127.0.0.1]:PORT/", "", "[::ffff:7f00:1]"),
            ("http://localhost:PORT/", "", "localhost"),
            ("http://169.254.169.254/", "", "169.254.169.254"),
            ("/elsewhere", "http://127.0.0.1:PORT/robots.txt", "127.0.0.1"),
        ] {
            assert_eq!(from_public_to(location, robots).await, (refused(host), 0), "{location} {robots}");
        }
        assert_eq!(from_public_to("/elsewhere", "").await, (Ok(404), 0));
    }

    #[test]
    fn the_hosts_that_were_asked_longest_ago_are_forgotten() {
        let mut fetcher = Fetcher::new(&Environment::default(), Duration::ZERO).unwrap();
        let rules = format!("User-agent: *\n{}", format!("Disallow: /{}\n", "x".repeat(500)).repeat(1_000));
        let rules = Arc::new(Rules::parse(&rules));
        for number in 0..100 {
            fetcher.make_room(rules.bytes());
            let host = Host { rules: Ok(rules.clone()), next_request: Instant::now() };
            fetcher.hosts.insert(number.to_string(), host);
        }
        assert!(fetcher.hosts.len() * rules.bytes() <= MAX_RULES_BYTES && fetcher.hosts.len() > 20);
        assert!(fetcher.hosts.contains_key("99") && !fetcher.hosts.contains_key("0"));
    }

    #[tokio::test]
    async fn a_name_of_a_private_address_is_not_connected_to() {
        let site = site::Site::start().await;
        let address: Url = site.address.replace("127.0.0.1", "localhost").parse().unwrap();
        let fetcher = Fetcher::new(&Environment::default(), Duration::ZERO).unwrap();
        let refused = fetcher.request(&address, HeaderMap::new()).await.err().unwrap().message();
        assert!(
            refused.ends_with("localhost is an address of a private network or of this machine"),
            "{refused}"
        );
        assert!(site.requests().is_empty());
        let allowed = Environment { allow_private_addresses: true, ..Environment::default() };
        let fetcher = Fetcher::new(&allowed, Duration::ZERO).unwrap();
        assert!(fetcher.request(&address, HeaderMap::new()).await.is_ok());
    }
}
