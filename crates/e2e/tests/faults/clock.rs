//! A clock that jumps, forwards and back, while the program works.

use crate::load::{Clients, Ledger};
use crate::start;
use e2e::passages::database_of;
use e2e::{Crm, Vendor};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const HOUR: i64 = 3600;
/// After a jump, everything that was begun is done within this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A clock for the program, which the test moves.
struct MovableClock {
    file: File,
    folder: TempDir,
}

impl MovableClock {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/clock.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]).arg(folder.path().join("clock.so")).arg(source);
        assert!(compiler.status().expect("a C compiler").success());
        let file = File::create(folder.path().join("seconds")).unwrap();
        let clock = Self { file, folder };
        clock.set(0);
        clock
    }

    /// Moves the program's clock to this many seconds from the machine's.
    fn set(&self, seconds: i64) {
        self.file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_when_the_clock_jumps() {
    let (vendor, crm, ledger) =
        (Vendor::start("A short answer.").await, Crm::start().await, Ledger::default());
    let clock = MovableClock::new();
    crm.refuse_other_times();
    let start = || {
        start(&vendor, &crm)
            .set("CRM_RETRY_LONGEST", "2s")
            .set("LD_PRELOAD", clock.folder.path().join("clock.so").display())
            .set("CLOCK_FILE", clock.folder.path().join("seconds").display())
    };
    let mut stoa = start().serve();
    let data = stoa.data.clone();
    let subjects = Clients::of(&stoa).await.subjects().await;
    for (seconds, is_killed) in
        [(2 * HOUR, false), (-3 * HOUR, false), (30 * HOUR, true), (-30 * HOUR, true), (0, false)]
    {
        let clients = Clients::of(&stoa).await;
        let _ = tokio::time::timeout(Duration::from_secs(1), clients.work(&ledger, &subjects)).await;
        clock.set(seconds);
        if is_killed {
            // Dropped is SIGKILL. What it worked on waits for the end of a lease of another time.
            drop(stoa);
            let workflow = data.path().join("workflow.toml");
            stoa = start().data(&data).set("WORKFLOW", workflow.display()).serve();
        }
        let clients = Clients::of(&stoa).await;
        let _ = tokio::time::timeout(Duration::from_secs(1), clients.work(&ledger, &subjects)).await;
        let started = Instant::now();
        ledger.check_all_but_leads(&clients, &subjects, &database_of(&stoa)).await;
        println!("{seconds} s from now: all was there after {:?}", started.elapsed());
        assert!(started.elapsed() < PATIENCE, "{seconds} s from now: {:?}", started.elapsed());
    }
    // They were refused while the clock was wrong, and not given up.
    ledger.check_leads(&crm).await;
}
