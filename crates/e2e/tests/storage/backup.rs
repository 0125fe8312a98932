//! `stoa backup` and `stoa restore`: a backup is of one moment, is whole or refused, and a restored one works.

use crate::office::{add_many, answers, deep_check, fail, fill, start, succeed};
use e2e::postgres::Postgres;
use e2e::s3::S3;
use e2e::{KnowledgeClient, Stoa};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Waits until a file is there, and kills the process while it works.
fn kill_when_there(mut child: Child, file: &Path) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !file.exists() {
        assert!(Instant::now() < deadline, "no {}", file.display());
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it could be killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("a child that runs");
    child.wait().expect("a child that ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_taken_while_documents_come_and_go_is_of_one_moment_and_works() {
    let backups = TempDir::new().unwrap();
    let place = |name: &str| backups.path().join(name).display().to_string();
    let stoa = start().serve();
    fill(&stoa).await;
    add_many(stoa.data.path(), 800).await;
    let program = start().data(&stoa.data);
    let known = answers(&stoa).await;

    let goes_on = Arc::new(AtomicBool::new(true));
    let changing = {
        let (goes_on, client) = (goes_on.clone(), KnowledgeClient::admin(&stoa).await);
        tokio::spawn(async move {
            let (mut made, mut deleted, mut older) = (0, 0, Vec::new());
            while goes_on.load(Ordering::Relaxed) {
                made += 1;
                older.push(client.ingest_text("short.txt", &format!("A short visit, number {made}.")).await);
                if older.len() > 3 {
                    let id = older.remove(0);
                    assert_eq!(client.delete(&format!("/api/documents/{id}")).await.status, 200);
                    deleted += 1;
                }
            }
            for id in older {
                client.delete(&format!("/api/documents/{id}")).await;
            }
            deleted
        })
    };
    for name in ["one", "two"] {
        let said = tokio::task::block_in_place(|| succeed(&program, &["backup", &place(name)]));
        assert!(said.contains("a whole backup is in"), "{said}");
    }
    goes_on.store(false, Ordering::Relaxed);
    assert!(changing.await.unwrap() > 5, "documents were deleted meanwhile");
    assert_eq!(answers(&stoa).await, known, "the program is as it was");

    let again = fail(&program, &["backup", &place("one")]);
    assert!(again.contains("holds a backup already"), "{again}");
    for name in ["one", "two"] {
        let restored = start();
        succeed(&restored, &["restore", &place(name)]);
        deep_check(&restored);
        let busy = fail(&restored, &["restore", &place(name)]);
        assert!(busy.contains("a backup is restored into an empty data folder"), "{busy}");
        let stoa = restored.serve();
        let visitors = KnowledgeClient::admin(&stoa).await;
        for document in visitors.settled(Duration::from_secs(20)).await {
            if document["filename"] == "short.txt" {
                let id = document["id"].as_str().unwrap();
                assert_eq!(visitors.get(&format!("/api/documents/{id}/content")).await.status, 200);
                visitors.delete(&format!("/api/documents/{id}")).await;
            }
        }
        assert_eq!(answers(&stoa).await, known);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_backup_is_refused_and_a_killed_restore_goes_on() {
    let backups = TempDir::new().unwrap();
    let stoa = start().serve();
    fill(&stoa).await;
    add_many(stoa.data.path(), 600).await;
    let program = start().data(&stoa.data);
    let known = answers(&stoa).await;

    let half = backups.path().join("half");
    let half_name = half.display().to_string();
    let child = program.command(&["backup", &half_name]).spawn().unwrap();
    kill_when_there(child, &half.join("objects/users/many/documents/00-000300-a.txt"));
    assert!(half.join("stoa.db").exists() && !half.join("manifest.json").exists());
    let refused = fail(&start(), &["restore", &half_name]);
    assert!(refused.contains("no whole backup"), "{refused}");
    let refused = fail(&program, &["backup", &half_name]);
    assert!(refused.contains("is not empty"), "{refused}");

    let whole = backups.path().join("whole").display().to_string();
    succeed(&program, &["backup", &whole]);
    let restored = start();
    let child = restored.command(&["restore", &whole]).spawn().unwrap();
    kill_when_there(child, &restored.path().join("objects/users/many/documents/00-000300-a.txt"));
    let refused = fail(&restored, &["serve"]);
    assert!(refused.contains("only partly restored"), "{refused}");
    succeed(&restored, &["restore", &whole]);
    deep_check(&restored);
    assert_eq!(answers(&restored.serve()).await, known);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_byte_that_was_changed_in_a_backup_is_found_before_anything_is_restored() {
    let backups = TempDir::new().unwrap();
    let folder = backups.path().join("b");
    let name = folder.display().to_string();
    let bare = || Stoa::start_bare().only("gateway").set("ADMIN_PASSWORD", "a long password");
    let stoa = bare().serve();
    let program = bare().data(&stoa.data);
    let said = succeed(&program, &["backup", &name]);
    assert!(said.contains("secrets   secrets.toml"), "{said}");

    let object = "objects/auth/admins/admin.json";
    let restored = bare();
    for part in ["stoa.db", "secrets.toml", "objects.jsonl", "manifest.json", object] {
        let file = folder.join(part);
        let bytes = std::fs::read(&file).unwrap();
        let mut changed = bytes.clone();
        let place = changed.len() * 3 / 4;
        changed[place] ^= 1;
        std::fs::write(&file, changed).unwrap();
        let refused = fail(&restored, &["restore", &name]);
        assert!(refused.contains("was changed after the backup"), "{part}: {refused}");
        std::fs::remove_file(&file).unwrap();
        let refused = fail(&restored, &["restore", &name]);
        assert!(refused.contains("is missing") || refused.contains("no whole backup"), "{part}: {refused}");
        std::fs::write(&file, bytes).unwrap();
        assert!(!restored.path().join("stoa.db").exists(), "{part}: nothing is restored");
        assert!(!restored.path().join("objects/auth").exists(), "{part}: nothing is restored");
    }
    let secret = |start: &e2e::stoa::Start| std::fs::read(start.path().join("secrets.toml")).unwrap();
    succeed(&restored, &["restore", &name]);
    assert_eq!(secret(&restored), secret(&program));
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_that_are_missing_are_named_and_skipped_only_if_asked_to() {
    let stoa = start().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let id = admin.ingest_text("gone.txt", "A file that will be lost.").await;
    let program = start().data(&stoa.data);
    let folder = stoa.data.path().join(format!("objects/users/{}/documents", admin.id));
    std::fs::remove_file(folder.join(format!("{id}-gone.txt"))).unwrap();
    let backups = TempDir::new().unwrap();
    let place = |name: &str| backups.path().join(name).display().to_string();
    let refused = fail(&program, &["backup", &place("a")]);
    assert!(refused.contains(&id) && refused.contains("--skip-missing"), "{refused}");
    assert!(!backups.path().join("a/manifest.json").exists());
    let said = succeed(&program, &["backup", "--skip-missing", &place("b")]);
    assert!(said.contains(&format!("skipped   document `{id}`")), "{said}");
    succeed(&start(), &["restore", &place("b")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_in_a_bucket_is_restored_from_there() {
    let s3 = S3::start().await;
    let with_s3 = |start: e2e::stoa::Start| {
        start
            .set("AWS_ENDPOINT_URL", &s3.endpoint)
            .set("AWS_ACCESS_KEY_ID", &s3.access_key_id)
            .set("AWS_SECRET_ACCESS_KEY", &s3.secret_access_key)
    };
    let stoa = start().serve();
    fill(&stoa).await;
    let known = answers(&stoa).await;
    let program = with_s3(start()).data(&stoa.data);
    let place = format!("s3://{}/backups/monday", s3.bucket);
    tokio::task::block_in_place(|| {
        succeed(&program, &["backup", &place]);
        let refused = fail(&program, &["backup", &place]);
        assert!(refused.contains("is not empty"), "{refused}");
    });
    let restored = with_s3(start());
    tokio::task::block_in_place(|| succeed(&restored, &["restore", &place]));
    deep_check(&restored);
    assert_eq!(answers(&restored.serve()).await, known);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_postgres_the_objects_are_those_of_the_dumps_snapshot() {
    let postgres = Postgres::shared().await;
    let (url, backups) = (postgres.database().await, TempDir::new().unwrap());
    let stoa = start().set("DATABASE_URL", &url).serve();
    fill(&stoa).await;
    let known = answers(&stoa).await;
    let program = start().set("DATABASE_URL", &url).data(&stoa.data);
    let folder = backups.path().join("own");
    let name = folder.display().to_string();

    // The command says how to dump the database, copies the objects, and waits.
    let mut command = program.command(&["backup", &name]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let dump = lines.by_ref().map(Result::unwrap).find(|line| line.contains("pg_dump --snapshot=")).unwrap();
    let visitor = KnowledgeClient::admin(&stoa).await;
    visitor.ingest_text("later.txt", "This came after the snapshot.").await;
    let dump = dump.replace("pg_dump", &postgres.program("pg_dump")).replace("$DATABASE_URL", &url);
    let dumped = std::process::Command::new("sh").args(["-c", &dump]).output().unwrap();
    assert!(dumped.status.success(), "{dumped:?}");
    drop(child.stdin.take());
    let said: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(child.wait().unwrap().success(), "{said:?}");
    assert!(said.iter().any(|line| line.starts_with("database  stoa.pgdump")), "{said:?}");

    let other = postgres.database().await;
    let restored = start().set("DATABASE_URL", &other);
    let said = succeed(&restored, &["restore", &name]);
    let restore = said.lines().find(|line| line.contains("pg_restore")).unwrap();
    let restore =
        restore.replace("pg_restore", &postgres.program("pg_restore")).replace("$DATABASE_URL", &other);
    let done = std::process::Command::new("sh").args(["-c", &restore]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    deep_check(&restored);
    let wrong = fail(&start(), &["restore", &name]);
    assert!(wrong.contains("a dump of PostgreSQL"), "{wrong}");
    assert_eq!(answers(&restored.serve()).await, known);

    let gone = fail(&program, &["backup", "--snapshot", "00000003-0000001B-1", &format!("{name}-2")]);
    assert!(gone.contains("cannot use the snapshot"), "{gone}");
    let (snapshot, _held) = postgres.snapshot(&url).await;
    let latest = visitor.ingest_text("latest.txt", "This came after the second snapshot.").await;
    succeed(&program, &["backup", "--snapshot", &snapshot, &format!("{name}-3")]);
    let listed = std::fs::read_to_string(format!("{name}-3/objects.jsonl")).unwrap();
    for document in visitor.documents().await {
        let id = document["id"].as_str().unwrap();
        assert_eq!(listed.contains(id), id != latest, "{listed}");
    }
}

#[tokio::test]
async fn a_restore_does_not_write_through_links() {
    let folder = TempDir::new().unwrap();
    let backup = folder.path().join("backup").display().to_string();
    let stoa = start().serve();
    KnowledgeClient::admin(&stoa).await.ingest_text("a.txt", "The shaft seal is replaced every month.").await;
    succeed(&start().data(&stoa.data), &["backup", &backup]);
    let elsewhere = folder.path().join("elsewhere");
    for name in [
        "stoa.db",
        "stoa.db-wal",
        "secrets.toml",
        "restore.unfinished",
        "stoa.lock",
        "objects",
        "objects/users",
    ] {
        let target = start();
        let link = target.path().join(name);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        let refused = fail(&target, &["restore", &backup]);
        assert!(refused.contains("is a symbolic link"), "{name}: {refused}");
        assert!(!elsewhere.exists() && link.is_symlink(), "{name}");
    }
    let real = folder.path().join("real");
    std::fs::create_dir(&real).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let output = start().command(&["restore", &backup]).env("STOA_DATA_DIR", &link).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("is a symbolic link"), "{said}");
    assert_eq!(std::fs::read_dir(&real).unwrap().count(), 0);
}
