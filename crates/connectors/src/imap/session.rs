//! One connection to a mailbox, opened for reading only. Every command has a time limit.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::ServerName;

use super::answer::{Answer, Token};
use super::wire::{Failure, Wire};
use crate::{ConnectError, Environment, network};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// What is needed to connect.
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
    wire: Wire,
    pub validity: u32,
    /// No mail has this number or a higher one.
    pub next_uid: u32,
}

impl Mailbox {
    pub async fn open(account: &Account, environment: &Environment) -> Result<Mailbox, ConnectError> {
        let failed = |failure: Failure| ConnectError::new(failure.message());
        let mut wire = connect(account, environment).await?;
        let login = format!("LOGIN {} {}", quoted(&account.username), quoted(&account.password));
        match wire.run(&login).await {
            Ok(_) => {}
            Err(Failure::Refused(_)) => {
                return Err(ConnectError::new("the mail server does not accept `username` and the password"));
            }
            Err(failure) => return Err(failed(failure)),
        }
        // As SELECT, but nothing can be changed.
        let examined = wire.run(&format!("EXAMINE {}", quoted(&encoded_name(&account.mailbox)))).await;
        let examined = examined.map_err(|failure| {
            ConnectError::new(format!("`mailbox` cannot be opened: {}", failure.message()))
        })?;
        match (code(&examined, "UIDVALIDITY"), code(&examined, "UIDNEXT")) {
            (Some(validity), Some(next_uid)) => Ok(Mailbox { wire, validity, next_uid }),
            _ => Err(ConnectError::new("the mail server does not number its mails (UIDVALIDITY, UIDNEXT)")),
        }
    }

    /// Returns the numbers from `first` to `last` that mails have, in order.
    pub async fn search(&mut self, first: u32, last: u32) -> Result<Vec<u32>, Failure> {
        let answers = self.wire.run(&format!("UID SEARCH UID {first}:{last}")).await?;
        let numbers =
            answers.iter().filter(|answer| answer.tokens.get(1).is_some_and(|name| name.is_atom("SEARCH")));
        let numbers = numbers.flat_map(|answer| answer.tokens.iter().skip(2).filter_map(Token::number));
        let mut uids: Vec<u32> = numbers.filter(|uid| (first..=last).contains(uid)).collect();
        uids.sort_unstable();
        uids.dedup();
        Ok(uids)
    }

    /// Fetches something of these mails. Returns the answers that name one of them, and its number.
    pub async fn fetch(&mut self, uids: &[u32], what: &str) -> Result<Vec<(u32, Answer)>, Failure> {
        let set: Vec<String> = uids.iter().map(u32::to_string).collect();
        let answers = self.wire.run(&format!("UID FETCH {} (UID {what})", set.join(","))).await?;
        let mut mails: Vec<(u32, Answer)> = answers
            .into_iter()
            .filter_map(|answer| Some((value(&answer, "UID")?.first()?.number()?, answer)))
            .filter(|(uid, _)| uids.contains(uid))
            .collect();
        mails.sort_by_key(|(uid, _)| *uid);
        Ok(mails)
    }
}

/// Returns a value of a mail by its name. Of a part of a text, the server also says where it begins, as in `BODY[]<0>`.
pub(super) fn value<'a>(answer: &'a Answer, wanted: &str) -> Option<&'a [Token]> {
    let values = answer.fetched().into_iter();
    let mut found =
        values.filter(|(name, _)| name.split('<').next().unwrap_or_default().eq_ignore_ascii_case(wanted));
    found.next().map(|(_, value)| value)
}

/// Returns the number of an answer such as `* OK [UIDNEXT 7] text`.
fn code(answers: &[Answer], name: &str) -> Option<u32> {
    let texts = answers.iter().filter_map(|answer| answer.tokens.get(2)?.text());
    let mut numbers = texts.filter_map(|text| {
        let (found, number) = text.strip_prefix('[')?.split_once(']')?.0.split_once(' ')?;
        found.eq_ignore_ascii_case(name).then(|| number.trim().parse().ok()).flatten()
    });
    numbers.next()
}

/// Quotes a text that has no line breaks.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', r"\\").replace('"', "\\\""))
}

async fn connect(account: &Account, environment: &Environment) -> Result<Wire, ConnectError> {
    let failed = |reason: String| ConnectError::new(format!("`host` cannot be reached: {reason}"));
    let addresses = network::resolve(&account.host, account.port, environment).await.map_err(failed)?;
    if !account.tls && !addresses.iter().all(|address| address.ip().is_loopback()) {
        return Err(without_tls());
    }
    let stream = match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(addresses.as_slice())).await {
        Ok(stream) => stream.map_err(|error| failed(error.to_string()))?,
        Err(_) => return Err(failed("no answer".to_owned())),
    };
    if !account.tls {
        return Wire::start(stream).await.map_err(|failure| failed(failure.message()));
    }
    let name = ServerName::try_from(account.host.clone()).map_err(|error| failed(error.to_string()))?;
    let connector = TlsConnector::from(Arc::new(tls_settings().map_err(failed)?));
    match tokio::time::timeout(CONNECT_TIMEOUT, connector.connect(name, stream)).await {
        Ok(Ok(stream)) => Wire::start(stream).await.map_err(|failure| failed(failure.message())),
        Ok(Err(error)) => Err(failed(error.to_string())),
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
    fn texts_are_quoted() {
        assert_eq!(quoted("a \"b\" \\ c\r\nA2 DELETE"), r#""a \"b\" \\ cA2 DELETE""#);
    }

    #[test]
    fn names_of_mailboxes_are_encoded() {
        let names = ["INBOX", "Entwürfe", "R&D", "台北/日本語", "üü x"];
        let encoded = ["INBOX", "Entw&APw-rfe", "R&-D", "&U,BTFw-/&ZeVnLIqe-", "&APwA,A- x"];
        assert_eq!(names.map(encoded_name), encoded);
    }
}
