//! `stoa`: the command line. Parses what is asked, and leaves the doing to its modules.

mod admin;
mod banner;
mod check;
mod cli;
mod config;
mod eval;
mod folder_lock;
mod housekeeping;
mod models;
mod password;
mod portal_file;
mod serve;
mod signals;
mod workflow;

use config::{Config, Faults};
use std::io::Write;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The caller's mistake, as opposed to something that failed.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let matches = cli::command().get_matches();
    let Some((name, matches)) = matches.subcommand() else { return ExitCode::from(EXIT_USAGE) };
    match name {
        "completions" => cli::print_completions(matches),
        "openapi" => cli::print_openapi(matches),
        "workflow" => match workflow::write(&cli::folder(matches)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(reason) => failed(&reason),
        },
        cli::EXTRACT => extract_worker(),
        _ => with_config(name, matches),
    }
}

fn with_config(name: &str, matches: &clap::ArgMatches) -> ExitCode {
    let config = match Config::load(cli::config_file(matches), cli::settings_given(matches)) {
        Ok(config) => config,
        Err(Faults(faults)) => {
            let number = faults.len();
            say(&format!("stoa: {number} setting{} wrong:", if number == 1 { " is" } else { "s are" }));
            faults.iter().for_each(|fault| say(&format!("  {fault}")));
            return ExitCode::from(EXIT_USAGE);
        }
    };
    config.warnings.iter().for_each(|warning| say(&format!("stoa: {warning}")));
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&format!("cannot start: {error}")),
    };
    let done = match name {
        "serve" => runtime.block_on(serve::run(config, cli::roles(matches))),
        "check" => runtime.block_on(check::run(config)),
        "admin" => match matches.subcommand() {
            Some(("list", _)) => runtime.block_on(admin::list(config)),
            Some(("create", matches)) => runtime.block_on(admin::create(config, cli::username(matches))),
            Some(("password", matches)) => runtime.block_on(admin::password(config, cli::username(matches))),
            Some(("remove", matches)) => runtime.block_on(admin::remove(config, cli::username(matches))),
            _ => return ExitCode::from(EXIT_USAGE),
        },
        "eval" => {
            let (folder, mode) = cli::eval(matches);
            match cli::questions(matches) {
                Some(questions) => runtime.block_on(eval::run_answers(config, &folder, &questions)),
                None => runtime.block_on(eval::run(config, folder, mode)),
            }
        }
        "portal" => match matches.subcommand() {
            Some(("import", matches)) => runtime.block_on(portal_file::import(config, cli::file(matches))),
            Some(("export", matches)) => runtime.block_on(portal_file::export(config, cli::file(matches))),
            _ => return ExitCode::from(EXIT_USAGE),
        },
        "models" => runtime.block_on(models::pull::run(config)),
        _ => return ExitCode::from(EXIT_USAGE),
    };
    // Whatever still blocks a thread (a password being hashed, a file being written) must not hold up the end.
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => failed(&reason),
    }
}

/// Reads untrusted files, one after the other, until its parent closes the pipe.
fn extract_worker() -> ExitCode {
    match extract::work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn failed(reason: &str) -> ExitCode {
    say(&format!("stoa: {reason}"));
    ExitCode::FAILURE
}

/// To standard error; when that is gone, nobody is left to tell.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
