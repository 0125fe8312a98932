//! `stoa check`: reaches every dependency, one line each.

use crate::config::Config;
use gateway::TargetUrl;
use kit::{Clock, Random};
use std::io::Write;
use store::{Blobs, Db};

pub async fn run(config: Config) -> Result<(), String> {
    let mut findings: Vec<(String, Result<String, String>)> = vec![
        ("database".to_owned(), database(&config).await),
        ("objects".to_owned(), objects(&config).await),
        ("models".to_owned(), crate::models::state(&config)),
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
    Ok(format!("{:?}", db.dialect()).to_lowercase())
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
