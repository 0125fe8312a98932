//! A PostgreSQL server for this test process, from the binaries that `scripts/fetch-postgres` unpacks.
//!
//! It listens on a Unix socket only, runs as the user `nobody` if the tests run as root (PostgreSQL refuses root), and ends
//! with the test process, however that ends. Its folder is removed by the next test process.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "test support: a test that cannot start its server stops; a variable may name the folder of the binaries"
)]

use crate::{FaultProxy, Server};
use sqlx::{Connection, PgConnection};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;

static SHARED: OnceCell<Postgres> = OnceCell::const_new();

pub struct Postgres {
    sockets: PathBuf,
    databases: AtomicU32,
    /// Tells other test processes that this one still runs.
    _lock: File,
}

impl Postgres {
    /// Returns the server of this process, started on first use.
    pub async fn shared() -> &'static Postgres {
        SHARED.get_or_init(|| async { start().await }).await
    }

    /// Creates an empty database and returns its URL.
    pub async fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut connection = PgConnection::connect(&self.url("postgres")).await.expect("a connection");
        let create = sqlx::raw_sql(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}")));
        create.execute(&mut connection).await.expect("a new database");
        connection.close().await.expect("a closed connection");
        self.url(&name)
    }

    /// Creates an empty database behind a proxy that can be cut. Returns the proxy and the URL through it.
    pub async fn database_behind_proxy(&self) -> (FaultProxy, String) {
        let url = self.database().await;
        let proxy = FaultProxy::start(socket_in(&self.sockets)).await;
        let name = url.split(['/', '?']).nth(3).expect("a database's name");
        let url = format!("postgres://postgres@{}/{name}?sslmode=disable", proxy.address);
        (proxy, url)
    }

    /// Returns the path of one of PostgreSQL's own programs, such as `pg_dump`.
    pub fn program(&self, name: &str) -> String {
        find_binaries().join(name).display().to_string()
    }

    /// Exports a snapshot of a database, which lives as long as the connection that is returned with its id.
    pub async fn snapshot(&self, url: &str) -> (String, PgConnection) {
        let mut connection = PgConnection::connect(url).await.expect("a connection");
        let begin = sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
        begin.execute(&mut connection).await.expect("a transaction");
        let row = sqlx::query("SELECT pg_export_snapshot()").fetch_one(&mut connection).await;
        (sqlx::Row::get(&row.expect("a snapshot"), 0), connection)
    }

    fn url(&self, database: &str) -> String {
        url_of(&self.sockets, database)
    }
}

async fn start() -> Postgres {
    let binaries = find_binaries();
    let user = ServerUser::find();
    let (folder, lock) = new_folder();
    user.give(&folder);
    let data = folder.join("data");
    initialise(&binaries, &user, &data);
    spawn_server(&binaries, &user, &data, &folder);
    ready(&folder).await;
    Postgres { sockets: folder, databases: AtomicU32::new(0), _lock: lock }
}

/// Waits until the server with its sockets in this folder answers.
async fn ready(sockets: &Path) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while PgConnection::connect(&url_of(sockets, "postgres")).await.is_err() {
        assert!(Instant::now() < deadline, "PostgreSQL did not start: see {}", sockets.display());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn url_of(sockets: &Path, database: &str) -> String {
    format!("postgres://postgres@localhost/{database}?host={}", sockets.display())
}

fn socket_in(folder: &Path) -> Server {
    Server::Unix(folder.join(".s.PGSQL.5432"))
}

/// A server of its own with a replica that follows it: a commit is answered when both have it. Clients reach them through a
/// proxy.
pub struct Pair {
    pub proxy: FaultProxy,
    replica: PathBuf,
    primary_process: u32,
}

impl Pair {
    pub async fn start() -> Self {
        let (binaries, user) = (find_binaries(), ServerUser::find());
        let folder = Postgres::shared().await.sockets.join("pair");
        let (primary, replica) = (folder.join("primary"), folder.join("replica"));
        for folder in [&folder, &primary, &replica] {
            std::fs::create_dir_all(folder).expect("a folder for a server");
            user.give(folder);
        }
        initialise(&binaries, &user, &primary.join("data"));
        let primary_process = spawn_server(&binaries, &user, &primary.join("data"), &primary);
        ready(&primary).await;
        let mut copy = user.command(&binaries.join("pg_basebackup"));
        copy.args(["-U", "postgres", "-R", "-X", "stream", "--no-sync", "-c", "fast", "-h"]).arg(&primary);
        let output = copy.arg("-D").arg(replica.join("data")).output().expect("the command setpriv");
        assert!(output.status.success(), "no copy: {}", String::from_utf8_lossy(&output.stderr));
        spawn_server(&binaries, &user, &replica.join("data"), &replica);
        ready(&replica).await;
        let synchronous = "ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf();";
        for statement in synchronous.split_inclusive(';') {
            execute(&primary, statement).await;
        }
        let proxy = FaultProxy::start(socket_in(&primary)).await;
        Self { proxy, replica, primary_process }
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@{}/postgres?sslmode=disable", self.proxy.address)
    }

    /// Ends the primary at once, makes the replica the new one, and leads clients there.
    pub async fn fail_over(&self) {
        let killed = Command::new("kill").args(["-QUIT", &self.primary_process.to_string()]).status();
        assert!(killed.expect("the command kill").success());
        execute(&self.replica, "SELECT pg_promote()").await;
        self.proxy.lead_to(socket_in(&self.replica));
        // The new primary has no replica to wait for.
        execute(&self.replica, "ALTER SYSTEM SET synchronous_standby_names = ''").await;
        execute(&self.replica, "SELECT pg_reload_conf()").await;
    }
}

async fn execute(sockets: &Path, statement: &str) {
    let mut connection = PgConnection::connect(&url_of(sockets, "postgres")).await.expect("a connection");
    let statement = sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()));
    statement.execute(&mut connection).await.expect("the statement");
    connection.close().await.expect("a closed connection");
}

fn find_binaries() -> PathBuf {
    let unpacked = std::env::var_os("STOA_TEST_PGSERVER").map(PathBuf::from).unwrap_or_else(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
        target.join("pgserver")
    });
    let binaries = unpacked.join("pgserver/pginstall/bin");
    match binaries.canonicalize() {
        Ok(binaries) => binaries,
        Err(_) => panic!("no PostgreSQL in {}: run scripts/fetch-postgres once", unpacked.display()),
    }
}

/// The user `nobody` if this process is root, else the same user.
struct ServerUser(Option<(u32, u32)>);

impl ServerUser {
    fn find() -> ServerUser {
        if own_uid() != 0 {
            return ServerUser(None);
        }
        let id = |flag: &str| {
            let output = Command::new("id").args([flag, "nobody"]).output().expect("the command id");
            let text = String::from_utf8(output.stdout).expect("a number");
            text.trim().parse().expect("a number")
        };
        ServerUser(Some((id("-u"), id("-g"))))
    }

    fn give(&self, folder: &Path) {
        if let Some((uid, gid)) = self.0 {
            chown(folder, Some(uid), Some(gid)).expect("a folder for the server's user");
        }
    }

    /// Returns a command that runs as this user and gets the signal QUIT when its parent thread ends.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        if let Some((uid, gid)) = self.0 {
            command.args([format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".into()]);
        }
        // QUIT and not KILL, so that the server ends its children and frees its shared memory.
        command.args(["--pdeathsig", "QUIT", "--"]).arg(program).current_dir("/").env_clear();
        command
    }
}

fn own_uid() -> u32 {
    std::fs::metadata("/proc/self").expect("/proc").uid()
}

/// A folder of this process, with a lock that shows others that it is in use. Folders of ended processes are removed. The
/// path is short, because the path of a socket may have 107 bytes.
fn new_folder() -> (PathBuf, File) {
    let all = std::env::temp_dir().join(format!("stoa-test-postgres-{}", own_uid()));
    std::fs::create_dir_all(&all).expect("a temporary folder");
    let looking_around =
        OpenOptions::new().create(true).append(true).open(all.join("lock")).expect("a lock file");
    looking_around.lock().expect("the lock");
    for entry in std::fs::read_dir(&all).expect("the temporary folder").flatten() {
        let stale = match File::open(entry.path().join("lock")) {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(_) => true,
        };
        if stale && entry.path().is_dir() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let folder = all.join(std::process::id().to_string());
    std::fs::create_dir_all(&folder).expect("a folder for the server");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).expect("a private folder");
    let lock = File::create(folder.join("lock")).expect("a lock file");
    lock.lock().expect("a new lock");
    (folder, lock)
}

fn initialise(binaries: &Path, user: &ServerUser, data: &Path) {
    let mut initdb = user.command(&binaries.join("initdb"));
    initdb.args(["--no-sync", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "-D"]);
    let output = initdb.arg(data).output().expect("the command setpriv");
    assert!(output.status.success(), "initdb failed: {}", String::from_utf8_lossy(&output.stderr));
}

/// Starts a server and returns its process.
fn spawn_server(binaries: &Path, user: &ServerUser, data: &Path, sockets: &Path) -> u32 {
    let log = File::create(sockets.join("log")).expect("a log file");
    let mut server = user.command(&binaries.join("postgres"));
    server.arg("-D").arg(data).arg("-k").arg(sockets);
    for setting in ["listen_addresses=", "fsync=off", "max_connections=1000", "autovacuum=off"] {
        server.args(["-c", setting]);
    }
    server.stdin(Stdio::null()).stdout(log.try_clone().expect("the log file")).stderr(log);
    // The signal is sent when the parent *thread* ends, and a test's thread ends early. So a thread that never ends starts it.
    let (started, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let child = server.spawn();
        started.send(child.map(|child| child.id()).ok()).expect("the receiver waits");
        loop {
            std::thread::park();
        }
    });
    wait.recv().expect("the thread lives").expect("the command setpriv")
}
