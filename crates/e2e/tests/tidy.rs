//! Rules of the house that no compiler checks.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Path from the root, and text, of every Rust file of the crates.
fn sources() -> Vec<(String, String)> {
    let mut folders = vec![root().join("crates")];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().display().to_string();
                sources.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(sources.len() > 40, "the sources are found");
    sources
}

fn offenders(breaks: impl Fn(&str, &str) -> bool) -> Vec<String> {
    sources().into_iter().filter(|(name, text)| breaks(name, text)).map(|(name, _)| name).collect()
}

const NONE: [String; 0] = [];

#[test]
fn every_file_opens_with_what_it_owns() {
    assert_eq!(offenders(|_, text| !text.starts_with("//! ")), NONE);
}

#[test]
fn no_file_is_longer_than_four_hundred_lines() {
    assert_eq!(offenders(|_, text| text.lines().count() > 400), NONE);
}

#[test]
fn axum_stays_in_kit_and_under_http() {
    let allowed = |name: &str| name.starts_with("crates/kit/") || name.contains("/http");
    assert_eq!(offenders(|name, text| !allowed(name) && text.contains(concat!("use ", "axum"))), NONE);
}

/// The part of a file that is compiled into the program.
fn production(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

fn is_production(name: &str) -> bool {
    name.contains("/src/") && !name.starts_with("crates/e2e/") && !name.ends_with("/tests.rs")
}

#[test]
fn requests_and_answers_are_structs() {
    let untyped = concat!("json", "!(");
    assert_eq!(offenders(|name, text| is_production(name) && production(text).contains(untyped)), NONE);
}

#[test]
fn routes_are_documented_where_they_are_made() {
    // What takes the rest of a path, such as `/v1/{*path}`, answers that there is nothing.
    let is_undocumented = |line: &str| line.contains(concat!(".rou", "te(")) && !line.contains("/{*");
    let allowed = |name: &str| name.starts_with("crates/kit/") || !name.contains("/http");
    let breaks = |name: &str, text: &str| !allowed(name) && text.lines().any(is_undocumented);
    assert_eq!(offenders(|name, text| is_production(name) && breaks(name, text)), NONE);
}

#[test]
fn sql_stays_in_the_store_and_in_tables() {
    let allowed = |name: &str| {
        name.starts_with("crates/store/") || name.starts_with("crates/e2e/") || name.contains("/tables")
    };
    assert_eq!(offenders(|name, text| !allowed(name) && text.contains("sqlx::")), NONE);
}

#[test]
fn only_the_configuration_reads_the_environment() {
    let places =
        ["crates/stoa/src/config/", "crates/e2e/", "crates/inference/tests/common/", "crates/mutations/"];
    let allowed = |name: &str| places.iter().any(|place| name.starts_with(place));
    assert_eq!(offenders(|name, text| !allowed(name) && text.contains(concat!("env", "::var"))), NONE);
}

/// During an upgrade the program of the version before goes on with the tables of the new one.
#[test]
fn migrations_only_add() {
    let takes_away = |line: &&str| {
        let line = line.to_uppercase();
        let has = |words: &str| line.contains(words);
        has("DROP ")
            || has("RENAME ")
            || has("SET NOT NULL")
            || (has("ADD COLUMN") && has("NOT NULL") && !has("DEFAULT"))
    };
    let services = ["knowledge", "leads", "store", "supervisor"];
    let files = services.iter().flat_map(|service| {
        fs::read_dir(root().join(format!("crates/{service}/migrations")))
            .unwrap()
            .map(|entry| entry.unwrap().path())
    });
    let found: Vec<String> = files
        .flat_map(|file| {
            fs::read_to_string(file)
                .unwrap()
                .lines()
                .filter(takes_away)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    // Older than the first version that others have.
    assert_eq!(found, ["ALTER TABLE projects RENAME COLUMN product_seed TO seed_excerpt;"]);
}

#[test]
fn only_the_inference_crate_is_unsafe() {
    let lifted = concat!("unsafe", "_code");
    assert_eq!(
        offenders(|name, text| !name.starts_with("crates/inference/src/") && text.contains(lifted)),
        NONE
    );
}

#[test]
fn services_do_not_know_each_other() {
    let services = ["gateway", "knowledge", "supervisor", "portal", "leads"];
    for service in services {
        let manifest = fs::read_to_string(root().join(format!("crates/{service}/Cargo.toml"))).unwrap();
        for other in services.iter().filter(|other| **other != service) {
            assert!(!manifest.contains(&format!("{other}.workspace")), "{service} depends on {other}");
        }
    }
}

#[test]
fn every_setting_is_documented() {
    let defaults = fs::read_to_string(root().join("crates/stoa/src/defaults.toml")).unwrap();
    let documented = fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let names =
        defaults.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    for (name, _) in names {
        let environment = name.to_uppercase();
        assert!(documented.contains(&environment), "{environment} is not in docs/configuration.md");
    }
}
