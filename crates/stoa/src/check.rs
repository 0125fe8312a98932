//! `stoa check`: reaches every dependency, one line each.

use crate::config::Config;
use base::{Clock, Random};
use gateway::TargetUrl;
use std::io::Write;
use store::{Blobs, Db};

pub async fn run(config: Config) -> Result<(), String> {
    let mut findings: Vec<(String, Result<String, String>)> = vec![
        ("database".to_owned(), database(&config).await),
        ("objects".to_owned(), objects(&config).await),
        ("models".to_owned(), crate::models::check(&config).await),
        ("workflow".to_owned(), crate::workflow::state(&config)),
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
    let mut out = std::io::stdout().lock();
    for (name, finding) in &findings {
        let (word, detail) = match finding {
            Ok(detail) => ("ok    ", detail),
            Err(reason) => ("FAILED", reason),
        };
        // A workflow may have several faults, each in its own line.
        let detail = detail.replace('\n', &format!("\n{:23}", ""));
        writeln!(out, "{word}  {name:<14} {detail}").map_err(|error| error.to_string())?;
    }
    match findings.iter().filter(|(_, finding)| finding.is_err()).count() {
        0 => Ok(()),
        1 => Err("1 dependency cannot be used".to_owned()),
        failed => Err(format!("{failed} dependencies cannot be used")),
    }
}

async fn database(config: &Config) -> Result<String, String> {
    crate::serve::make_data_dir(config)?;
    let opened =
        Db::open_with(&config.database_url, config.database_connections, Clock::system(), Random::system())
            .await;
    let db = opened.map_err(|error| error.to_string())?;
    db.ping().await.map_err(|error| error.to_string())?;
    let dialect = format!("{:?}", db.dialect()).to_lowercase();
    Ok(format!("{dialect}{}", schema(&db).await?))
}

/// What every service finds of its tables: they are as it knows them, or it makes them so at the next start.
async fn schema(db: &Db) -> Result<String, String> {
    let (mut pending, mut faults) = (0, Vec::new());
    for schema in [knowledge::SCHEMA, supervisor::SCHEMA, leads::SCHEMA] {
        match db.pending(&schema).await {
            Ok(number) => pending += number,
            Err(error) => faults.push(error.to_string()),
        }
    }
    match (faults.is_empty(), pending) {
        (false, _) => Err(faults.join("\n")),
        (true, 0) => Ok(String::new()),
        (true, 1) => Ok(", 1 migration is due at the next start".to_owned()),
        (true, pending) => Ok(format!(", {pending} migrations are due at the next start")),
    }
}

async fn objects(config: &Config) -> Result<String, String> {
    let opened = Blobs::open(&config.object_store_url, config.s3.clone()).await;
    let blobs = opened.map_err(|error| error.to_string())?;
    blobs.ping().await.map_err(|error| error.to_string())?;
    Ok(config.object_store_url.clone())
}

async fn reach(target: &TargetUrl) -> Result<String, String> {
    match target.connect().await {
        Ok(_) => Ok(target.to_string()),
        Err(error) => Err(format!("{target}: {error}")),
    }
}
