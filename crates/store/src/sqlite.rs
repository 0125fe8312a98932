//! Opens an SQLite file so that a commit is durable and several processes can share the file.

mod writer;

pub(crate) use writer::{Member, Turn, Writer};

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, ConnectOptions, Connection, Row};
use std::fmt::Write;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::StoreError;

const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
// `temp_store`: what SQLite keeps to undo a part of a transaction stays in memory, and out of other folders.
// `secure_delete` overwrites what is deleted, so that no data of an erased person stays in the file. Beside a durable
// commit, its cost could not be measured.
const CONNECTION_PRAGMAS: &str = "
    PRAGMA busy_timeout = 10000;
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
";

/// Creates the file if it is missing and sets its journal mode to WAL, which the file then keeps.
pub(crate) async fn prepare_file(url: &str) -> Result<AnyConnectOptions, StoreError> {
    let path = path_of(url)?;
    make_private_file(&path)
        .map_err(|source| StoreError::File { path: path.display().to_string(), source })?;
    let options = AnyConnectOptions::from_str(&connect_url(&path))?;
    let mut connection = options.connect().await?;
    enter_wal_mode(&mut connection).await?;
    connection.close().await?;
    Ok(options)
}

/// Returns how many connections read at a time.
pub(crate) fn reader_count() -> u32 {
    std::thread::available_parallelism().map_or(4, |cores| cores.get().clamp(4, 16)) as u32
}

/// Returns a pool whose connections refuse to write.
pub(crate) fn readers(connections: u32) -> AnyPoolOptions {
    // A file cannot go away between two statements, as a server can: no ping, no renewal.
    let pool = AnyPoolOptions::new()
        .max_connections(connections)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None);
    pool.after_connect(|connection, _| {
        Box::pin(async move {
            sqlx::raw_sql(CONNECTION_PRAGMAS).execute(&mut *connection).await?;
            sqlx::raw_sql("PRAGMA query_only = ON").execute(connection).await?;
            Ok(())
        })
    })
}

/// Returns the file that a URL names; none if it is not one of SQLite.
pub fn file_of(url: &str) -> Result<Option<PathBuf>, StoreError> {
    if url.starts_with("sqlite:") { path_of(url).map(Some) } else { Ok(None) }
}

/// Returns the path after `sqlite://`, taken literally: a data folder may have any name.
fn path_of(url: &str) -> Result<PathBuf, StoreError> {
    let rest = url.strip_prefix("sqlite:").unwrap_or(url);
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() || path == ":memory:" {
        return Err(StoreError::Url("the SQLite URL names no file: sqlite://path".into()));
    }
    if path.contains('?') {
        return Err(StoreError::Url("the SQLite URL takes no parameters after `?`: sqlite://path".into()));
    }
    std::path::absolute(path).map_err(|source| StoreError::File { path: path.into(), source })
}

fn make_private_file(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // SQLite gives its side files (-wal, -shm) the mode of this one.
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => file.sync_all()?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(error),
    }
    File::open(folder)?.sync_all()
}

fn connect_url(path: &Path) -> String {
    let mut url = String::from("sqlite://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                url.push(char::from(*byte))
            }
            other => {
                let _ = write!(url, "%{other:02X}");
            }
        }
    }
    url
}

/// Sets the journal mode, and retries if another process does the same: SQLite may answer "locked" to this statement at
/// once, whatever the busy timeout.
async fn enter_wal_mode(connection: &mut AnyConnection) -> Result<(), StoreError> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        let answer = sqlx::query("PRAGMA journal_mode = WAL").fetch_one(&mut *connection).await;
        match answer {
            Ok(row) => {
                let mode: String = row.try_get(0)?;
                if mode == "wal" {
                    return Ok(());
                }
                return Err(StoreError::Url(format!(
                    "SQLite cannot keep a write-ahead log here (its journal mode is `{mode}`): use a local disk"
                )));
            }
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|database| database.code());
    // SQLITE_BUSY and its extended codes: the low byte is 5.
    code.and_then(|code| code.parse::<u32>().ok()).is_some_and(|code| code & 0xFF == 5)
}
