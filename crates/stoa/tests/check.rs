//! `stoa check`: what it reaches, compares and opens, and how it says what cannot be used.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use e2e::{Stoa, Upstream};
use std::path::Path;
use store::{Db, Migration, Schema};

/// Of the services that have tables of their own.
const SCHEMAS: [Schema; 3] = [knowledge::SCHEMA, supervisor::SCHEMA, leads::SCHEMA];

#[tokio::test]
async fn check_reaches_every_dependency_and_names_those_that_fail() {
    let upstream = Upstream::start().await;
    let (code, stdout, _) =
        Stoa::start().with_models().set("CORE_SERVICE_URL", upstream.url()).run(&["check"]);
    assert_eq!(code, 0, "{stdout}");
    for name in ["database", "objects", "models", "core target"] {
        assert!(stdout.contains(&format!("ok      {name} ")), "{name} in:\n{stdout}");
    }
    let start = Stoa::start()
        .set("BUILD_SERVICE_URL", format!("http://127.0.0.1:1,{}", upstream.url()))
        .set("DATABASE_URL", "postgres://nobody:hunter2@127.0.0.1:1/none")
        .set("STOA_MODELS_DIR", "/nowhere")
        .set("OBJECT_STORE_URL", "file:///proc/nowhere");
    let (code, stdout, stderr) = start.run(&["check"]);
    assert_eq!(code, 1);
    assert_eq!(stdout.matches("FAILED").count(), 4, "{stdout}");
    assert!(stdout.contains("http://127.0.0.1:1: "), "{stdout}");
    assert!(stderr.contains("4 dependencies cannot be used"), "{stderr}");
    assert!(!stdout.contains("hunter2"), "{stdout}");
}

#[test]
fn check_knows_the_tables_of_every_service() {
    let start = Stoa::start().with_models();
    let (code, stdout, _) = start.run(&["check"]);
    assert_eq!(code, 0, "{stdout}");
    let due: usize = SCHEMAS.iter().map(|schema| schema.migrations.len()).sum();
    assert!(stdout.contains(&format!("sqlite, {due} migrations are due at the next start")), "{stdout}");
    let stoa = start.only("gateway,knowledge,supervisor,leads").serve();
    let data = stoa.data.clone();
    drop(stoa);
    let start = Stoa::start().with_models().data(&data);
    let (_, stdout, _) = start.run(&["check"]);
    assert!(stdout.contains("ok      database       sqlite\n"), "{stdout}");
    add_migrations(&data.path().join("stoa.db"));
    let (code, stdout, _) = start.run(&["check"]);
    assert_eq!(code, 1, "{stdout}");
    for scope in ["knowledge", "supervisor", "leads"] {
        let told = format!("written by a newer program: it has migration 99 `later` of `{scope}`");
        assert!(stdout.contains(&told), "{scope} in:\n{stdout}");
    }
}

/// As a later program would, for each service.
fn add_migrations(database: &Path) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let url = format!("sqlite://{}", database.display());
        let db = Db::open(&url, base::Clock::system(), base::Random::system()).await.unwrap();
        for Schema { scope, migrations } in SCHEMAS {
            let known = migrations.iter().map(|known| Migration { ..*known });
            let all: Vec<Migration> = known.chain([Migration::portable(99, "later", "")]).collect();
            db.migrate(scope, &all).await.unwrap();
        }
        db.close().await;
    });
}

#[test]
fn check_opens_the_models() {
    let other = tempfile::NamedTempFile::new().unwrap();
    let metadata = |key: &str, value: &str| {
        let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        [text(key), 8u32.to_le_bytes().to_vec(), text(value)].concat()
    };
    let gguf = |entries: &[Vec<u8>], tensors: &[Vec<u8>]| {
        let counts = [tensors.len() as u64, entries.len() as u64].map(u64::to_le_bytes).concat();
        [b"GGUF".to_vec(), 3u32.to_le_bytes().to_vec(), counts, entries.concat(), tensors.concat()].concat()
    };
    let tensor = |kind: u32| {
        let name = [&7u64.to_le_bytes()[..], b"a.weigh"].concat();
        [
            name,
            1u32.to_le_bytes().to_vec(),
            32u64.to_le_bytes().to_vec(),
            kind.to_le_bytes().to_vec(),
            vec![0; 8],
        ]
        .concat()
    };
    let check = |bytes: Vec<u8>| {
        std::fs::write(other.path(), bytes).unwrap();
        Stoa::start().with_models().set("EDGE_AI_MODEL", other.path().display()).run(&["check"])
    };
    let qwen = metadata("general.architecture", "qwen3");
    for (file, told) in [
        (
            gguf(std::slice::from_ref(&qwen), &[]),
            "unsupported model: architecture `qwen3`: one of llama, qwen2",
        ),
        (
            gguf(&[qwen], &[tensor(16)]),
            "unsupported model: tensor type 16 (`one of the IQ kinds`): one of F32",
        ),
        (b"no model".to_vec(), "malformed model file"),
    ] {
        let (code, stdout, _) = check(file);
        assert_eq!(code, 1, "{stdout}");
        let line = stdout.lines().find(|line| line.starts_with("FAILED  models")).unwrap_or_default();
        assert!(line.contains(&format!("the language model cannot be used: {told}")), "{told} in:\n{stdout}");
    }
}
