//! `stoa check --deep`: all is right after real work, and every contradiction in what is stored is found.

use crate::database::{execute, number};
use crate::post_lead;
use e2e::{KnowledgeClient, Stoa};
use std::path::{Path, PathBuf};

/// What is broken, and the line that says so.
const BREAKS: [(&str, &str); 10] = [
    (
        "INSERT INTO chunks SELECT document_id, 900, text, headings, page, start, vector, mentions FROM chunks
            WHERE document_id = (SELECT MAX(id) FROM documents)",
        "1 passages beyond its 1",
    ),
    (
        "DELETE FROM chunks WHERE document_id = (SELECT MIN(id) FROM documents)",
        "FAILED  passages       0 of 2",
    ),
    (
        "INSERT INTO documents SELECT 'd3', user_id, title, filename, '', '', 0, 1, '{}', 'processing', 0, NULL, 0, 0, 0, 0,
            '', 12345, 9, 0, '', '', 1, '', NULL, '' FROM documents LIMIT 1",
        "FAILED  indexing jobs  0 of 1",
    ),
    (
        "INSERT INTO events VALUES ('s', 1, 'k', '{}', 0), ('s', 3, 'k', '{}', 0);
         INSERT INTO event_streams VALUES ('s', 3)",
        "stream `s` has 2 of 3 events",
    ),
    ("INSERT INTO events VALUES ('t', 1, 'k', '{}', 0)", "stream `t` has 1 events that it does not count"),
    ("DELETE FROM lead_queues", "FAILED  waiting leads  0 of 1"),
    ("UPDATE sqlite_sequence SET seq = 0 WHERE name = 'jobs'", "the counter of jobs is at 0"),
    (
        "INSERT INTO projects (id, name, seed_excerpt, current_phase, status, created_at, updated_at)
             VALUES ('p', 'n', 's', 'prd', 'running', 1, 1);
         INSERT INTO runs (id, project_id, phase, status, first_event, created_at) VALUES ('r', 'p', 'prd', 'running', 0, 1)",
        "run `r` is running without a job",
    ),
    (
        "INSERT INTO artifacts VALUES ('a', 'p', 'r', 'prd', 'x', 't', 'c', 2, 0, NULL, 1)",
        "an artifact of project `p` lacks a version",
    ),
    (
        "INSERT INTO conversations (id, user_id, title, is_named, created_at, updated_at, message_count, last_number)
         SELECT 'c', id, 't', 0, 1, 1, 5, 5 FROM users LIMIT 1",
        "conversation `c` has 0 of 5 messages",
    ),
];

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deep_check_passes_after_real_work_and_finds_every_contradiction() {
    let stoa = Stoa::start().only("gateway,knowledge,supervisor,leads").with_models().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    admin.ingest_text("harbour.txt", "The harbour of Bergen was full of ships.").await;
    let second = admin.ingest_text("light.txt", "The lighthouse of Bergen shines again.").await;
    assert_eq!(post_lead(&stoa, "ada@example.org").await.status, 202);
    let data = stoa.data.clone();
    let check = Stoa::start().with_models().data(&data);

    let (code, out, _) = check.run(&["check", "--deep"]);
    assert_eq!(code, 0, "while the program runs:\n{out}");
    drop(stoa);
    let (code, out, error) = check.run(&["check", "--deep"]);
    assert_eq!(code, 0, "{out}{error}");
    for line in [
        "database file  1 of 1",
        "references",
        "event streams",
        "stored objects 2 of 2",
        "passages       2 of 2",
    ] {
        assert!(out.contains(&format!("ok      {line}")), "{line} in:\n{out}");
    }
    assert!(!check.run(&["check"]).1.contains("passages"), "only with --deep");

    let database = data.path().join("stoa.db");
    execute(&database, "DELETE FROM texts").await;
    let snapshot = "CREATE TABLE IF NOT EXISTS index_snapshots
            (user_id TEXT PRIMARY KEY, object_key TEXT NOT NULL DEFAULT '', graph_key TEXT NOT NULL DEFAULT '');
        INSERT OR REPLACE INTO index_snapshots (user_id, object_key, graph_key)
            SELECT id, 'indexes/none', 'graphs/none' FROM users LIMIT 1";
    execute(&database, snapshot).await;
    let (code, out, _) = check.run(&["check", "--deep"]);
    for line in ["texts          0 of 2", "made objects   0 of 2"] {
        assert!(code == 0 && out.contains(&format!("warn    {line}")), "it is made again:\n{out}");
    }

    for (statements, _) in BREAKS {
        execute(&database, statements).await;
    }
    assert_eq!(number(&database, "SELECT COUNT(*) FROM documents").await, 3);
    let objects = files_below(&data.path().join("objects/users"));
    let of_second = objects.iter().find(|path| path.display().to_string().contains(&second)).unwrap();
    let first = objects.iter().find(|path| *path != of_second).unwrap();
    std::fs::remove_file(first).unwrap();
    std::fs::write(of_second, "The lighthouse of Bergen shines agair.").unwrap();
    execute(&database, "PRAGMA foreign_keys = OFF; INSERT INTO login_names VALUES ('n', 'nobody', 'v')")
        .await;

    let (code, out, error) = check.run(&["check", "--deep"]);
    assert_eq!(code, 1, "{out}");
    let also = [
        "FAILED  stored objects 0 of 2",
        "has no object `users/",
        "another SHA-256",
        "`login_names` has no row of `users`",
    ];
    for line in BREAKS.iter().map(|(_, line)| *line).chain(also) {
        assert!(out.contains(line), "{line} in:\n{out}");
    }
    assert!(error.contains("10 checks of what is stored have failed"), "{error}");
}
