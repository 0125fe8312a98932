//! `stoa check --deep`: reads all that is stored, and compares rows with rows and objects with their checksums.

use super::print;
use crate::config::Config;
use crate::storage::{SERVICE_SCHEMAS, open_database, open_objects};
use anyhow::{Result, bail};
use base::{Clock, Random};
use store::{Blobs, Db, Finding, Schema, Verdict, Version};

/// Prints a finding for everything that was examined. Fails if something is not as it should be.
pub async fn run(config: &Config) -> Result<()> {
    let db = open_database(config, Clock::system(), Random::system()).await?;
    let blobs = open_objects(config).await?;
    let mut failed = show(store::check::check(&db).await?)?;
    for schema in SERVICE_SCHEMAS {
        failed += show(service(&db, &blobs, &schema).await?)?;
    }
    db.close().await;
    match failed {
        0 => Ok(()),
        1 => bail!("1 check of what is stored has failed"),
        failed => bail!("{failed} checks of what is stored have failed"),
    }
}

async fn service(db: &Db, blobs: &Blobs, schema: &Schema) -> Result<Vec<Finding>> {
    match (db.version(schema).await?, schema.scope) {
        // It has never run on this database.
        (Version::Absent, _) => Ok(Vec::new()),
        (Version::Older { .. }, scope) => {
            let due = "cannot be checked before its migrations: start and stop `stoa serve` first";
            Ok(vec![Finding::failed(scope, due)])
        }
        (Version::Current, "knowledge") => Ok(knowledge::check(db, blobs).await?),
        (Version::Current, "supervisor") => Ok(supervisor::check(db).await?),
        (Version::Current, _) => Ok(leads::check(db).await?),
    }
}

/// Prints findings, and returns how many of them failed.
fn show(findings: Vec<Finding>) -> Result<usize> {
    let mut failed = 0;
    for Finding { name, verdict, detail } in findings {
        let word = match verdict {
            Verdict::Ok => "ok",
            Verdict::Warning => "warn",
            Verdict::Failed => {
                failed += 1;
                "FAILED"
            }
        };
        print(word, &name, &detail)?;
    }
    Ok(failed)
}
