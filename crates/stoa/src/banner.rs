//! The addresses of the services, for people and for scripts: the banner and `listen.json`.

use crate::config::{Config, Targets};
use crate::{cli, models};
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};

/// Services and their addresses, in the order in which they were started.
pub type Addresses = Vec<(&'static str, SocketAddr)>;

pub fn print(config: &Config, addresses: &Addresses, generated_password: Option<&str>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "stoa {}\n", env!("CARGO_PKG_VERSION"))?;
    // In the order of the roles: the gateway first, whatever was started before it.
    let rank = |name: &str| cli::ROLES.iter().position(|role| *role == name).unwrap_or(cli::ROLES.len());
    let mut addresses = addresses.clone();
    addresses.sort_by_key(|(name, _)| rank(name));
    if let Some(page) = page_address(config, &addresses) {
        writeln!(out, "  {:<14} {page}", "page")?;
    }
    for (name, address) in &addresses {
        let note = if *name == "ops" { "   /livez  /readyz  /metrics" } else { "" };
        writeln!(out, "  {name:<14} http://{address}{note}")?;
    }
    let folder = fs::canonicalize(&config.data_dir).unwrap_or(config.data_dir.clone());
    writeln!(out, "  {:<14} {}", "data", folder.display())?;
    let models = models::state(config).unwrap_or_else(|missing| missing);
    writeln!(out, "  {:<14} {models}", "models")?;
    if let Some(password) = generated_password {
        writeln!(out, "\n  {:<14} {}", "administrator", config.admin_username)?;
        writeln!(out, "  {:<14} {password}", "password")?;
        writeln!(out, "  {:<14} shown this once; to set another: stoa admin password NAME", "")?;
    }
    writeln!(out)?;
    out.flush()
}

/// Returns where a browser finds the page; none if this process does not serve it.
fn page_address(config: &Config, addresses: &Addresses) -> Option<String> {
    let find =
        |service: &str| addresses.iter().find(|(name, _)| *name == service).map(|(_, address)| *address);
    let (gateway, portal) = (find("gateway"), find("portal"));
    let is_behind_gateway = match &config.kv_targets {
        Targets::Own => portal.is_some(),
        Targets::Given(targets) => !targets.is_empty(),
    };
    let (mut address, path) = match gateway.filter(|_| is_behind_gateway) {
        Some(gateway) => (gateway, "/kv/"),
        None => (portal?, "/"),
    };
    // A listener on all addresses is also on this one, and browsers do not open `0.0.0.0`.
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    Some(format!("http://{address}{path}"))
}

/// Writes `listen.json`, replaced as a whole so that a script never reads half of it.
pub fn write_listen_json(config: &Config, addresses: &Addresses) -> io::Result<()> {
    let map: serde_json::Map<String, serde_json::Value> =
        addresses.iter().map(|(name, address)| ((*name).to_owned(), address.to_string().into())).collect();
    let draft = config.data_dir.join("listen.json.tmp");
    let mut file = File::create(&draft)?;
    file.write_all(serde_json::Value::from(map).to_string().as_bytes())?;
    fs::rename(draft, config.data_dir.join("listen.json"))
}

pub fn remove_listen_json(config: &Config) {
    // It may be missing already.
    let _ = fs::remove_file(config.data_dir.join("listen.json"));
}
