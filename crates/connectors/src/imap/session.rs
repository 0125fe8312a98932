//! One connection to a mailbox, opened for reading only. Every command has a time limit.

use async_imap::types::Fetch;
use async_imap::{Client, Session};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use futures_util::TryStreamExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::ServerName;

use super::wire::{Budget, Wire};
use crate::{ConnectError, Environment, network};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// What is needed to connect, and to connect again.
#[derive(Clone)]
pub(super) struct Account {
    pub host: String,
    pub port: u16,
    pub username: String,
    pub password: String,
    pub mailbox: String,
    pub tls: bool,
}

pub(super) struct Mailbox {
    session: Session<Wire>,
    budget: Budget,
    pub validity: u32,
    /// No mail has this number or a higher one.
    pub next_uid: u32,
}

#[derive(Debug)]
pub(super) enum Failure {
    /// The server sent what cannot be understood; the connection is of no more use.
    Unreadable,
    /// The server says no, and this.
    Refused(String),
    Lost(String),
}

impl Failure {
    pub fn message(self) -> String {
        match self {
            Failure::Unreadable => "the mail server answers in a way that is not understood".to_owned(),
            Failure::Refused(reason) => format!("the mail server refuses: {reason}"),
            Failure::Lost(reason) => format!("the connection to the mail server is lost: {reason}"),
        }
    }
}

impl From<async_imap::error::Error> for Failure {
    /// Errors of the parser hold all that it was given, so they are not repeated.
    fn from(error: async_imap::error::Error) -> Failure {
        use async_imap::error::Error;
        match error {
            Error::No(reason) | Error::Bad(reason) => Failure::Refused(reason.chars().take(300).collect()),
            Error::Io(error) if error.to_string().contains("during parsing of") => Failure::Unreadable,
            Error::Io(error) => Failure::Lost(error.to_string().chars().take(300).collect()),
            Error::Parse(_) => Failure::Unreadable,
            Error::Validate(error) => Failure::Refused(error.to_string()),
            _ => Failure::Lost("it was closed".to_owned()),
        }
    }
}

impl Mailbox {
    pub async fn open(account: &Account, environment: &Environment) -> Result<Mailbox, ConnectError> {
        let (wire, budget) = connect(account, environment).await?;
        let failed = |failure: Failure| ConnectError::new(failure.message());
        let mut client = Client::new(wire);
        let greeting = async { client.read_response().await.map_err(async_imap::error::Error::Io) };
        match limited(greeting).await {
            Ok(Some(_)) => {}
            Ok(None) => return Err(failed(Failure::Lost("it was closed".to_owned()))),
            Err(failure) => return Err(failed(failure)),
        }
        let login =
            async { client.login(&account.username, &account.password).await.map_err(|(error, _)| error) };
        let mut session = match limited(login).await {
            Ok(session) => session,
            Err(Failure::Refused(_)) => {
                return Err(ConnectError::new("the mail server does not accept `username` and the password"));
            }
            Err(failure) => return Err(failed(failure)),
        };
        let name = encoded_name(&account.mailbox);
        let examined = limited(session.examine(&name)).await;
        let examined = examined.map_err(|failure| {
            ConnectError::new(format!("`mailbox` cannot be opened: {}", failure.message()))
        })?;
        let (Some(validity), Some(next_uid)) = (examined.uid_validity, examined.uid_next) else {
            return Err(ConnectError::new(
                "the mail server does not number its mails (UIDVALIDITY, UIDNEXT)",
            ));
        };
        Ok(Mailbox { session, budget, validity, next_uid })
    }

    /// Returns the numbers from `first` to `last` that mails have, in order.
    pub async fn search(&mut self, first: u32, last: u32) -> Result<Vec<u32>, Failure> {
        self.budget.reset();
        let found = limited(self.session.uid_search(format!("UID {first}:{last}"))).await?;
        let mut uids: Vec<u32> = found.into_iter().filter(|uid| (first..=last).contains(uid)).collect();
        uids.sort_unstable();
        Ok(uids)
    }

    /// Fetches something of these mails.
    pub async fn fetch(&mut self, uids: &[u32], what: &str) -> Result<Vec<Fetch>, Failure> {
        self.budget.reset();
        let set: Vec<String> = uids.iter().map(u32::to_string).collect();
        let fetched = async {
            let answers = self.session.uid_fetch(set.join(","), what).await?;
            answers.try_collect::<Vec<Fetch>>().await
        };
        limited(fetched).await
    }
}

async fn limited<T>(work: impl Future<Output = async_imap::error::Result<T>>) -> Result<T, Failure> {
    match tokio::time::timeout(COMMAND_TIMEOUT, work).await {
        Ok(done) => done.map_err(Failure::from),
        Err(_) => Err(Failure::Lost("no answer".to_owned())),
    }
}

async fn connect(account: &Account, environment: &Environment) -> Result<(Wire, Budget), ConnectError> {
    let failed = |reason: String| ConnectError::new(format!("`host` cannot be reached: {reason}"));
    let allow_private = environment.allow_private_addresses;
    let addresses = network::resolve(&account.host, account.port, allow_private).await.map_err(failed)?;
    if !account.tls && !addresses.iter().all(|address| address.ip().is_loopback()) {
        return Err(without_tls());
    }
    let stream = match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(addresses.as_slice())).await {
        Ok(stream) => stream.map_err(|error| failed(error.to_string()))?,
        Err(_) => return Err(failed("no answer".to_owned())),
    };
    if !account.tls {
        return Ok(Wire::new(stream));
    }
    let name = ServerName::try_from(account.host.clone()).map_err(|error| failed(error.to_string()))?;
    let connector = TlsConnector::from(Arc::new(tls_settings().map_err(failed)?));
    match tokio::time::timeout(CONNECT_TIMEOUT, connector.connect(name, stream)).await {
        Ok(stream) => Ok(Wire::new(stream.map_err(|error| failed(error.to_string()))?)),
        Err(_) => Err(failed("no answer".to_owned())),
    }
}

/// Trusts the certificates that the system trusts.
fn tls_settings() -> Result<ClientConfig, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(&provider));
    let verifier = verifier.map_err(|error| error.to_string())?;
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?.dangerous();
    Ok(builder.with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

pub(super) fn without_tls() -> ConnectError {
    ConnectError::new(
        "`tls` can be false only for a `host` of this machine: the password is sent in plain text",
    )
}

/// Encodes the name of a mailbox in IMAP's own UTF-7.
fn encoded_name(name: &str) -> String {
    let mut encoded = String::new();
    let mut wide: Vec<u8> = Vec::new();
    let flush = |wide: &mut Vec<u8>, encoded: &mut String| {
        if !wide.is_empty() {
            encoded.push('&');
            encoded.push_str(&STANDARD_NO_PAD.encode(&*wide).replace('/', ","));
            encoded.push('-');
            wide.clear();
        }
    };
    for c in name.chars() {
        if matches!(c, ' '..='~') {
            flush(&mut wide, &mut encoded);
            encoded.push(c);
            if c == '&' {
                encoded.push('-');
            }
        } else {
            wide.extend(c.encode_utf16(&mut [0; 2]).iter().flat_map(|unit| unit.to_be_bytes()));
        }
    }
    flush(&mut wide, &mut encoded);
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mailboxes_are_encoded() {
        let names = ["INBOX", "Entwürfe", "R&D", "台北/日本語", "üü x"];
        let encoded = ["INBOX", "Entw&APw-rfe", "R&-D", "&U,BTFw-/&ZeVnLIqe-", "&APwA,A- x"];
        assert_eq!(names.map(encoded_name), encoded);
    }
}
