//! `stoa check`: reaches every dependency, one line each.

mod deep;

use crate::config::Config;
use crate::storage::{SERVICE_SCHEMAS, make_data_dir, open_database, open_objects};
use crate::{describe, models, workflow};
use anyhow::{Result, bail};
use base::{Clock, Random};
use gateway::TargetUrl;
use std::io::Write;
use store::Db;

pub async fn run(config: Config, is_deep: bool) -> Result<()> {
    let mut findings: Vec<(String, Result<String, String>)> = vec![
        ("database".to_owned(), database(&config).await.map_err(|error| describe(&error))),
        ("objects".to_owned(), objects(&config).await.map_err(|error| describe(&error))),
        ("models".to_owned(), models::check(&config).await),
        ("workflow".to_owned(), workflow::state(&config).map_err(|error| describe(&error))),
        ("forms".to_owned(), Ok(config.forms.names().join(", "))),
    ];
    let routes =
        [("build", &config.build_targets), ("kv", &config.kv_targets), ("core", &config.core_targets)];
    for (route, targets) in routes {
        for target in targets.given() {
            findings.push((format!("{route} target"), reach(target).await));
        }
    }
    let vendors = config.vendors.reach().await;
    findings.extend(vendors.into_iter().map(|(name, finding)| (name.to_owned(), finding)));
    if let Some(crm) = &config.crm {
        findings.push(("crm".to_owned(), crm.reach().await));
    }
    if let Some(sso) = &config.sso {
        findings.push(("sign-on".to_owned(), portal::check_provider(sso).await));
    }
    for (name, finding) in &findings {
        let (word, detail) = match finding {
            Ok(detail) => ("ok", detail),
            Err(reason) => ("FAILED", reason),
        };
        print(word, name, detail)?;
    }
    match findings.iter().filter(|(_, finding)| finding.is_err()).count() {
        0 => {}
        1 => bail!("1 dependency cannot be used"),
        failed => bail!("{failed} dependencies cannot be used"),
    }
    if is_deep { deep::run(&config).await } else { Ok(()) }
}

/// Prints what was found about one thing.
fn print(word: &str, name: &str, detail: &str) -> Result<()> {
    // A workflow may have several faults, each on a line of its own.
    let detail = detail.replace('\n', &format!("\n{:23}", ""));
    Ok(writeln!(std::io::stdout(), "{word:<6}  {name:<14} {detail}")?)
}

async fn database(config: &Config) -> Result<String> {
    make_data_dir(config)?;
    let db = open_database(config, Clock::system(), Random::system()).await?;
    db.ping().await?;
    let dialect = format!("{:?}", db.dialect()).to_lowercase();
    Ok(format!("{dialect}{}", schema(&db).await?))
}

/// Checks the tables of every service: they are up to date, or will be after the next start.
async fn schema(db: &Db) -> Result<String> {
    let (mut pending, mut faults) = (0, Vec::new());
    for schema in SERVICE_SCHEMAS {
        match db.pending(&schema).await {
            Ok(number) => pending += number,
            Err(error) => faults.push(error.to_string()),
        }
    }
    match (faults.is_empty(), pending) {
        (false, _) => bail!(faults.join("\n")),
        (true, 0) => Ok(String::new()),
        (true, 1) => Ok(", 1 migration is due at the next start".to_owned()),
        (true, pending) => Ok(format!(", {pending} migrations are due at the next start")),
    }
}

async fn objects(config: &Config) -> Result<String> {
    open_objects(config).await?.ping().await?;
    Ok(config.object_store_url.clone())
}

async fn reach(target: &TargetUrl) -> Result<String, String> {
    match target.connect().await {
        Ok(_) => Ok(target.to_string()),
        Err(error) => Err(format!("{target}: {error}")),
    }
}
