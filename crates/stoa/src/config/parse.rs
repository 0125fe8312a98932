//! Parses settings. Each error says what would be accepted.

use std::path::PathBuf;
use std::str::FromStr;

/// Parses a folder and makes it absolute. `~/` is the user's home folder: no shell has replaced it in a default or in
/// `stoa.toml`.
pub fn folder(text: &str) -> Result<PathBuf, String> {
    if text != "~" && !text.starts_with("~/") {
        return std::path::absolute(text).map_err(|error| format!("`{text}` is not a folder: {error}"));
    }
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let home = home.ok_or_else(|| format!("`{text}` needs HOME to be an absolute path"))?;
    Ok(home.join(text[1..].trim_start_matches('/')))
}

pub fn listen_address(text: &str) -> Result<String, String> {
    let parts = text.rsplit_once(':').filter(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    match parts {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!("`{text}` is not an address: expected `host:port`, such as `127.0.0.1:8080`")),
    }
}

pub fn one_of(text: &str, accepted: &[&'static str]) -> Result<&'static str, String> {
    let found = accepted.iter().find(|word| **word == text);
    found.copied().ok_or_else(|| format!("`{text}` is not known: one of {}", accepted.join(", ")))
}

/// Parses a list that is separated by commas. Empty parts are skipped.
pub fn list<T: FromStr<Err = String>>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_host_and_port() {
        for text in ["127.0.0.1:8080", "[::1]:0", "localhost:80", "0.0.0.0:65535"] {
            assert!(listen_address(text).is_ok(), "{text}");
        }
        for text in ["", "8080", ":8080", "host", "host:", "host:65536", "host:http"] {
            assert!(listen_address(text).is_err(), "{text}");
        }
    }
}
