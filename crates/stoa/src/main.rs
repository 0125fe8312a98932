//! `stoa`: parses the command line and runs the command. Each command has a module of its own.

mod admin;
mod backup;
mod banner;
mod check;
mod cli;
mod config;
mod eval;
mod extractor;
mod figures;
mod folder_lock;
mod housekeeping;
mod models;
mod move_data;
mod object_copy;
mod password;
mod portal_file;
mod restore;
mod serve;
mod signals;
mod storage;
mod workflow;

use config::{Config, Faults};
use std::io::Write;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The exit code for a mistake of the caller, as opposed to a failure.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let matches = cli::command().get_matches();
    let Some((name, matches)) = matches.subcommand() else { return ExitCode::from(EXIT_USAGE) };
    match name {
        "completions" => cli::print_completions(matches),
        "openapi" => cli::print_openapi(matches),
        "workflow" => match workflow::write(&cli::folder(matches)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        },
        extractor::COMMAND => extract_worker(),
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
        Err(error) => return failed(&anyhow::Error::new(error).context("cannot start")),
    };
    let done = match name {
        "serve" => runtime.block_on(serve::run(config, cli::roles(matches))),
        "check" => runtime.block_on(check::run(config, matches.get_flag("deep"))),
        "backup" => {
            let (to, snapshot) = (cli::text(matches, "to"), cli::optional_text(matches, "snapshot"));
            runtime.block_on(backup::run(config, to, snapshot, matches.get_flag("skip-missing")))
        }
        "restore" => runtime.block_on(restore::run(config, cli::text(matches, "from"))),
        "move" => {
            let (from, to) = (cli::optional_text(matches, "from"), cli::optional_text(matches, "to"));
            runtime.block_on(move_data::run(config, from, to, matches.get_flag("skip-missing")))
        }
        "admin" => match matches.subcommand() {
            Some(("list", _)) => runtime.block_on(admin::list(config)),
            Some(("create", matches)) => runtime.block_on(admin::create(config, cli::username(matches))),
            Some(("password", matches)) => runtime.block_on(admin::password(config, cli::username(matches))),
            Some(("remove", matches)) => runtime.block_on(admin::remove(config, cli::username(matches))),
            _ => return ExitCode::from(EXIT_USAGE),
        },
        "eval" => {
            let (folder, mode, rerank) = cli::eval(matches);
            match cli::questions(matches) {
                Some(questions) => runtime.block_on(eval::run_answers(config, questions)),
                None => runtime.block_on(eval::run(config, folder, mode, rerank)),
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
    // A thread that is still blocked (hashing a password, writing a file) must not delay the end.
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Reads untrusted files, one after the other, until its parent closes the pipe.
fn extract_worker() -> ExitCode {
    match extract::work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    say(&format!("stoa: {}", describe(error)));
    ExitCode::FAILURE
}

/// Writes an error with its causes in one line. A cause that the error above it repeats is left out.
fn describe(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Writes a line to standard output.
fn out(line: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Writes a line to standard error. If that is closed, there is no one to write to.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
