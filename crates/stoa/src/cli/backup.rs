//! The arguments of `stoa backup`, `stoa restore` and `stoa move`.

use clap::{Arg, ArgAction, Command};

pub fn backup() -> Command {
    Command::new("backup")
        .about("Copy everything that is stored to an empty folder or bucket, while Stoa runs")
        .arg(Arg::new("to").value_name("DIR|s3://BUCKET/PREFIX").required(true).help("Where the backup goes"))
        .arg(Arg::new("snapshot").long("snapshot").value_name("ID").help(
            "PostgreSQL: copy the objects of this snapshot, which another program has exported and holds",
        ))
        .arg(skip_missing())
}

pub fn restore() -> Command {
    Command::new("restore")
        .about("Bring a backup into an empty data folder, verified before and after")
        .arg(Arg::new("from").value_name("DIR|s3://BUCKET/PREFIX").required(true).help("Where the backup is"))
}

pub fn move_data() -> Command {
    Command::new("move")
        .about("Move everything to another database and object store; a killed move goes on where it was")
        .arg(Arg::new("from").long("from").value_name("PLACE").help(
            "A data folder, or DATABASE_URL,OBJECT_STORE_URL; if absent, what the settings of this command name",
        ))
        .arg(Arg::new("to").long("to").value_name("PLACE").help("The same for the target, which must be empty"))
        .arg(skip_missing())
}

fn skip_missing() -> Arg {
    Arg::new("skip-missing")
        .long("skip-missing")
        .action(ArgAction::SetTrue)
        .help("Go on although objects are missing or damaged; they are listed")
}
