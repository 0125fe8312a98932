//! Where a repository is copied from, and what may be copied: no option of `git` or `ssh`, no program, no path outside
//! of FOLDER_ROOTS, no private address.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use url::Url;

use super::command::Git;
use crate::{ConnectError, Environment, folder, network};

/// Services that want only a token accept any name with it.
const TOKEN_USER: &str = "x-access-token";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Remote {
    url: String,
    transport: Transport,
}

#[derive(Debug, PartialEq, Eq)]
enum Transport {
    File,
    Http {
        is_encrypted: bool,
        host: String,
        port: u16,
    },
    Ssh {
        host: String,
        port: u16,
    },
    /// The path begins with `/`.
    Git {
        host: String,
        port: u16,
        path: String,
    },
}

/// Returns whether an address is of the server itself: a path, and not `host:path`.
pub(crate) fn is_local(url: &str) -> bool {
    match url.split_once("://") {
        Some((scheme, _)) => scheme.eq_ignore_ascii_case("file"),
        None => url.split('/').next().is_none_or(|first| !first.contains(':')),
    }
}

impl Remote {
    pub fn parse(url: &str, environment: &Environment) -> Result<Remote, ConnectError> {
        let wanted = || {
            ConnectError::new(
                "`url` is not the address of a repository: expected https://, http://, ssh://, git://, file://, \
                 user@host:path or a path below FOLDER_ROOTS",
            )
        };
        // `git` and this parser disagree about what a backslash is.
        let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
        if url.is_empty() || url.starts_with('-') {
            return Err(wanted());
        }
        if let Some(path) = url.strip_prefix("file://").or(Some(url).filter(|url| url.starts_with('/'))) {
            let real = real_repository(path, environment)?;
            return Ok(Remote { url: format!("file://{real}"), transport: Transport::File });
        }
        if url.contains(is_odd) {
            return Err(wanted());
        }
        if !url.contains("://") {
            let (host, path) = url.split_once(':').ok_or_else(wanted)?;
            if host.contains('/') || path.is_empty() || path.starts_with(':') {
                return Err(wanted());
            }
            let host = checked_host(host.rsplit_once('@').map_or(host, |(_, host)| host), 22, environment)?;
            return Ok(Remote { url: url.to_owned(), transport: Transport::Ssh { host, port: 22 } });
        }
        let parsed = Url::parse(url).map_err(|_| wanted())?;
        if parsed.password().is_some() {
            return Err(ConnectError::new("`url` has a password in its address: it belongs in the secret"));
        }
        // Not repeated in the message: it may be a token.
        if parsed.scheme() != "ssh" && !parsed.username().is_empty() {
            return Err(ConnectError::new("`url` has a user name in its address: it belongs in `username`"));
        }
        let host = parsed.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let usual_port = match parsed.scheme() {
            "https" => 443,
            "http" => 80,
            "ssh" => 22,
            "git" => 9418,
            _ => return Err(wanted()),
        };
        let port = parsed.port().unwrap_or(usual_port);
        let host = checked_host(host, port, environment)?;
        let transport = match parsed.scheme() {
            "ssh" => Transport::Ssh { host, port },
            "git" => Transport::Git { host, port, path: parsed.path().to_owned() },
            scheme => Transport::Http { is_encrypted: scheme == "https", host, port },
        };
        // Not as it was written: `git` would take it apart in its own way.
        Ok(Remote { url: parsed.into(), transport })
    }

    /// Resolves the host, and tells `git` how to connect to it and with which secret. Returns the address for `git`.
    pub async fn prepare(
        &self,
        git: &mut Git,
        username: &str,
        secret: Option<&str>,
        environment: &Environment,
    ) -> Result<String, ConnectError> {
        let secret = secret.filter(|secret| !secret.is_empty());
        match &self.transport {
            Transport::File => {}
            Transport::Git { host, port, path } => {
                let address = first_address(host, *port, environment).await?;
                // Connects to what was checked, and says which host is meant.
                git.set_variable("GIT_OVERRIDE_VIRTUAL_HOST", format!("{host}:{port}"));
                return Ok(format!("git://{address}{path}"));
            }
            Transport::Http { is_encrypted, host, port } => {
                let addresses = resolve(host, *port, environment).await?;
                if host.parse::<IpAddr>().is_err() {
                    // Connects to what was checked, whatever the name server says next.
                    let ips: Vec<String> = addresses.iter().map(bracketed).collect();
                    git.configure("http.curloptResolve", &format!("{host}:{port}:{}", ips.join(",")));
                }
                let Some(secret) = secret else { return Ok(self.url.clone()) };
                if !is_encrypted && !addresses.iter().all(|address| address.ip().is_loopback()) {
                    return Err(ConnectError::new(
                        "`url` has to be an https address, so that the secret is sent encrypted",
                    ));
                }
                let user = if username.is_empty() { TOKEN_USER } else { username };
                let credentials = STANDARD.encode(format!("{user}:{secret}"));
                git.configure("http.extraHeader", &format!("Authorization: Basic {credentials}"));
            }
            Transport::Ssh { host, port } => {
                let address = first_address(host, *port, environment).await?;
                let key = secret.map(|secret| git.write_key(secret)).transpose()?;
                let command = ssh_command(git.copy(), host, &address, key.as_deref());
                git.set_variable("GIT_SSH_COMMAND", command);
                git.set_variable("GIT_SSH_VARIANT", "ssh".to_owned());
            }
        }
        Ok(self.url.clone())
    }
}

/// Returns the command that connects to the checked address under the name of the host.
fn ssh_command(copy: &Path, host: &str, address: &SocketAddr, key: Option<&Path>) -> String {
    format!(
        "ssh -F /dev/null -o BatchMode=yes -o ConnectTimeout=15 -o StrictHostKeyChecking=accept-new \
         -o UserKnownHostsFile={} -o HostKeyAlias={host} -o HostName={} -o ServerAliveInterval=30 \
         -o IdentitiesOnly=yes -o IdentityAgent=none -o IdentityFile={}",
        quoted(&copy.join("known_hosts")),
        address.ip(),
        // The keys of the account that the server runs under are never offered.
        key.map_or_else(|| "none".to_owned(), quoted),
    )
}

/// Quotes a path for the shell that `git` starts `ssh` with.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

fn bracketed(address: &SocketAddr) -> String {
    if address.is_ipv6() { format!("[{}]", address.ip()) } else { address.ip().to_string() }
}

/// Returns a host that is no option and not private as far as its name tells.
fn checked_host(host: &str, port: u16, environment: &Environment) -> Result<String, ConnectError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if host.is_empty() || host.starts_with('-') || host.ends_with('.') || !host.chars().all(is_name) {
        return Err(ConnectError::new(
            "`url` has no host, or one that is no name of letters, digits, `.` and `-`",
        ));
    }
    network::check_host_name(host, port, environment)
        .map_err(|reason| ConnectError::new(format!("`url` is refused: {reason}")))?;
    Ok(host.to_owned())
}

async fn resolve(host: &str, port: u16, environment: &Environment) -> Result<Vec<SocketAddr>, ConnectError> {
    let resolved = network::resolve(host, port, environment).await;
    resolved.map_err(|reason| ConnectError::new(format!("`url` cannot be used: {reason}")))
}

async fn first_address(host: &str, port: u16, environment: &Environment) -> Result<SocketAddr, ConnectError> {
    let addresses = resolve(host, port, environment).await?;
    addresses
        .first()
        .copied()
        .ok_or_else(|| ConnectError::new("`url` cannot be used: its host has no address"))
}

/// Returns the real path of a repository below FOLDER_ROOTS.
fn real_repository(path: &str, environment: &Environment) -> Result<String, ConnectError> {
    let real = folder::real_path("url", path, environment)?;
    // In a work tree of another repository, `.git` is a file that names any place.
    if real.join(".git").symlink_metadata().is_ok_and(|state| !state.is_dir()) {
        return Err(ConnectError::new("`url` is the work tree of another repository: name that one"));
    }
    let real = real.to_str().ok_or_else(|| ConnectError::new("`url` is a path that is not UTF-8"))?;
    Ok(real.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Transport, String> {
        let parsed = Remote::parse(url, &Environment::default());
        parsed.map(|remote| remote.transport).map_err(|error| error.message)
    }

    #[test]
    fn programs_options_and_paths_of_the_server_are_refused() {
        let refused = [
            "",
            "-u",
            "--upload-pack=touch /tmp/x",
            "ext::sh -c touch% /tmp/x",
            "fd::17",
            "file:///etc",
            "/etc",
            "ssh://-oProxyCommand=x/y",
            "-oProxyCommand=x:y",
            "a@-oProxyCommand=x:y",
            "ftp://example.org/x",
            "http://127.0.0.1/x",
            "git@localhost:x",
            "ssh://10.0.0.1/x",
            "git://[::1]/x",
            "relative/path",
            "https://ada:secret@example.org/x",
            "https://example.org/x\n",
            "transport::https://example.org/x",
            "http://example.org\\@10.0.0.5/x",
            "https://example.org /x",
            "https://example.org./x",
            "https://token@example.org/x",
            "git://10.0.0.5%3A9418%2F@example.org/x",
            "git://10.0.0.5%2Fexample.org/x",
        ];
        for url in refused {
            assert!(parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn the_usual_addresses_are_understood() {
        let host = || "example.org".to_owned();
        let http = |port| Ok(Transport::Http { is_encrypted: true, host: host(), port });
        assert_eq!(parse("https://example.org/a.git"), http(443));
        assert_eq!(parse("https://example.org:8443/a.git"), http(8443));
        assert_eq!(parse("git@example.org:a/b.git"), Ok(Transport::Ssh { host: host(), port: 22 }));
        assert_eq!(parse("ssh://git@example.org:2222/a"), Ok(Transport::Ssh { host: host(), port: 2222 }));
        let path = "/a".to_owned();
        assert_eq!(parse("git://example.org/a"), Ok(Transport::Git { host: host(), port: 9418, path }));
    }

    #[test]
    fn ssh_offers_the_key_of_the_source_or_none() {
        let address = "192.0.2.1:22".parse().unwrap();
        let command = |key| ssh_command(Path::new("/srv/it's"), "example.org", &address, key);
        let none = "-o IdentitiesOnly=yes -o IdentityAgent=none -o IdentityFile=none";
        assert!(command(None).ends_with(none), "{}", command(None));
        let own = r"-o IdentitiesOnly=yes -o IdentityAgent=none -o IdentityFile='/srv/it'\''s/ssh-key'";
        assert!(command(Some(Path::new("/srv/it's/ssh-key"))).ends_with(own));
    }

    #[test]
    fn git_gets_the_address_as_it_was_understood() {
        let url = |url: &str| Remote::parse(url, &Environment::default()).unwrap().url;
        assert_eq!(url("https:///example.org/a"), "https://example.org/a");
        assert_eq!(url("HTTPS://Bücher.Example.org:443/a/../b"), "https://xn--bcher-kva.example.org/b");
        assert_eq!(url("ssh://git@example.org/a"), "ssh://git@example.org/a");
    }
}
