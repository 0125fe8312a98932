//! `stoa move`: everything goes from files to servers and back, also if it is killed, and is the same there.

use crate::database::{execute, number};
use crate::office::{add_many, answers, deep_check, fail, fill, start, succeed};
use e2e::postgres::Postgres;
use e2e::s3::S3;
use e2e::stoa::Start;
use sqlx::{Connection, PgConnection};
use std::process::Child;
use std::time::{Duration, Instant};

/// Uses a bucket's prefix for the objects.
fn with_s3(start: Start, s3: &S3, prefix: &str) -> Start {
    start
        .set("OBJECT_STORE_URL", format!("s3://{}/{prefix}", s3.bucket))
        .set("AWS_ENDPOINT_URL", &s3.endpoint)
        .set("AWS_ACCESS_KEY_ID", &s3.access_key_id)
        .set("AWS_SECRET_ACCESS_KEY", &s3.secret_access_key)
}

/// Returns how far the move of a part is; empty if it has not begun.
async fn position(connection: &mut PgConnection, part: &str) -> String {
    let query = sqlx::query_scalar("SELECT position FROM move_progress WHERE part = $1").bind(part);
    query.fetch_optional(connection).await.ok().flatten().unwrap_or_default()
}

/// Kills a move as soon as it has come this far with a part.
async fn kill_at(mut child: Child, url: &str, part: &str, reached: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while position(&mut connection, part).await.as_str() < reached {
        assert!(Instant::now() < deadline, "{part} never came to {reached}");
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_to_servers_and_back_and_a_killed_move_goes_on() {
    let (s3, postgres) = (S3::start().await, Postgres::shared().await);
    let url = postgres.database().await;
    let stoa = start().serve();
    fill(&stoa).await;
    add_many(stoa.data.path(), 600).await;
    let known = answers(&stoa).await;
    let embedded = start().data(&stoa.data);
    let from = stoa.data.path().display().to_string();
    let servers = with_s3(start().set("DATABASE_URL", &url), &s3, "moved");

    let in_use = fail(&servers, &["move", "--from", &from]);
    assert!(in_use.contains("nothing may use the source") && in_use.contains("stop it"), "{in_use}");
    stoa.signal("TERM");
    assert_eq!(stoa.wait().0, Some(0));
    let before = deep_check(&embedded);

    // Killed twice: among the rows, and among the objects.
    let child = servers.command(&["move", "--from", &from]).spawn().unwrap();
    kill_at(child, &url, "table events", "[\"many\",5").await;
    let refused = fail(&servers, &["serve"]);
    assert!(refused.contains("only partly moved"), "{refused}");
    let child = servers.command(&["move", "--from", &from]).spawn().unwrap();
    kill_at(child, &url, "objects", "0 00-0002").await;
    let other = e2e::Stoa::start().serve().data.clone();
    let refused = fail(&servers, &["move", "--from", &other.path().display().to_string()]);
    assert!(refused.contains("data of another source"), "{refused}");
    let said = tokio::task::block_in_place(|| succeed(&servers, &["move", "--from", &from]));
    assert!(said.contains("going on") && said.contains("everything is moved and verified"), "{said}");
    assert_eq!(deep_check(&servers), before);
    let again = tokio::task::block_in_place(|| fail(&servers, &["move", "--from", &from]));
    assert!(again.contains("the database is not empty"), "{again}");

    let moved = with_s3(start().set("DATABASE_URL", &url), &s3, "moved").serve();
    assert_eq!(answers(&moved).await, known);
    // Numbers go on where they were: a job that is added now gets one that no other had.
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let (highest, last): (i64, i64) =
        sqlx::query_as("SELECT (SELECT MAX(id) FROM jobs), last_value FROM jobs_id_seq")
            .fetch_one(&mut connection)
            .await
            .unwrap();
    assert!(last >= highest && highest > 0, "{last} {highest}");
    let back = start();
    let to = back.path().display().to_string();
    let in_use = tokio::task::block_in_place(|| fail(&servers, &["move", "--to", &to]));
    assert!(in_use.contains("a process with knowledge, supervisor"), "{in_use}");
    moved.signal("TERM");
    assert_eq!(moved.wait().0, Some(0));

    tokio::task::block_in_place(|| succeed(&servers, &["move", "--to", &to]));
    assert_eq!(deep_check(&back), before);
    assert_eq!(answers(&back.serve()).await, known);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_cannot_be_right_is_refused_with_its_reason() {
    let stoa = e2e::Stoa::start().serve();
    let data = stoa.data.clone();
    drop(stoa);
    let program = e2e::Stoa::start().data(&data);
    let other = tempfile::TempDir::new().unwrap();
    let to = other.path().join("new").display().to_string();
    let own = data.path().display().to_string();
    for (arguments, reason) in [
        (vec!["move"], "name the source with --from"),
        (vec!["move", "--to", &own], "the same database"),
        (vec!["move", "--from", &to], "there is no database"),
        (vec!["move", "--to", "ftp://x"], "names no object store"),
        (vec!["move", "--to", "mysql://x,s3://y"], "is no database"),
        (vec!["move", "--to", "postgres://u:secret@h/d,s3://y"], "every user of this machine can read"),
        (vec!["move", "--to", "postgres://nobody@127.0.0.1:1/d,file:///tmp/x"], "cannot open the database"),
    ] {
        let error = fail(&program, &arguments);
        assert!(error.contains(reason) && !error.contains("secret@"), "{arguments:?}: {error}");
    }
    let database = data.path().join("stoa.db");

    // Objects in the target that are not of this move.
    std::fs::create_dir_all(other.path().join("full/objects/a")).unwrap();
    std::fs::write(other.path().join("full/objects/a/b"), "x").unwrap();
    let error = fail(&program, &["move", "--to", &other.path().join("full").display().to_string()]);
    assert!(error.contains("is not empty, it has `a/b`"), "{error}");

    let newest = "DELETE FROM schema_migrations WHERE scope = 'store' AND version =
        (SELECT MAX(version) FROM schema_migrations WHERE scope = 'store')";
    execute(&database, newest).await;
    let error = fail(&program, &["move", "--to", &to]);
    assert!(error.contains("written by an older program, 1 migrations of `store` are due"), "{error}");
    execute(&database, "INSERT INTO schema_migrations VALUES ('store', 99, 'later', 'x', 1)").await;
    let error = fail(&program, &["move", "--to", &to]);
    assert!(error.contains("the source: ") && error.contains("written by a newer program"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_changed_since_the_move_began_is_noticed() {
    let (s3, postgres) = (S3::start().await, Postgres::shared().await);
    let url = postgres.database().await;
    let stoa = start().serve();
    let data = stoa.data.clone();
    add_many(data.path(), 600).await;
    stoa.signal("TERM");
    stoa.wait();
    let from = data.path().display().to_string();
    let servers = with_s3(start().set("DATABASE_URL", &url), &s3, "changed");
    let child = servers.command(&["move", "--from", &from]).spawn().unwrap();
    kill_at(child, &url, "objects", "0 00-0001").await;

    let database = data.path().join("stoa.db");
    execute(&database, "UPDATE documents SET title = 'b' WHERE id = '00-000007'").await;
    let error = tokio::task::block_in_place(|| fail(&servers, &["move", "--from", &from]));
    assert!(
        error.contains("the rows of `documents` differ: 600 in the source, 600 in the target"),
        "{error}"
    );
    execute(&database, "UPDATE documents SET title = 'a' WHERE id = '00-000007'").await;

    // A file that is lost fails the move, until it is told to go on without.
    let lost = data.path().join("objects/users/many/documents/00-000599-a.txt");
    std::fs::remove_file(&lost).unwrap();
    execute(&database, "UPDATE documents SET title = 'a'").await;
    let fresh = with_s3(start().set("DATABASE_URL", postgres.database().await), &s3, "fresh");
    for _ in 0..2 {
        let error = tokio::task::block_in_place(|| fail(&fresh, &["move", "--from", &from]));
        assert!(error.contains("document `00-000599` has no object"), "{error}");
    }
    let said = tokio::task::block_in_place(|| succeed(&fresh, &["move", "--skip-missing", "--from", &from]));
    assert!(said.contains("skipped   document `00-000599`"), "{said}");
    assert_eq!(number(&database, "SELECT COUNT(*) FROM documents").await, 600, "the source is as it was");
}
