//! Figures of the processes: replaced within a minute, added up by the reader, removed when they are old.

use crate::engine::{Engine, START, on_both_engines};
use base::Clock;
use std::time::Duration;
use store::figures::{self, Minute, Process};

on_both_engines![a_minute_is_replaced_and_kept_apart_from_other_processes, old_figures_are_removed];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn process(id: &str, seen_at_ms: i64) -> Process {
    let services = vec!["gateway".to_owned(), "portal".to_owned()];
    let addresses = vec!["127.0.0.1:8080".parse().unwrap(), "[::]:8083".parse().unwrap()];
    let (id, started_at_ms) = (id.to_owned(), START);
    Process { id, started_at_ms, seen_at_ms, services, addresses, indexes: 3, index_bytes: 4_096 }
}

fn minute(minute_ms: i64, errors: i64, times: &[i64]) -> Minute {
    Minute { minute_ms, service: "gateway".to_owned(), errors, times: times.to_vec() }
}

async fn a_minute_is_replaced_and_kept_apart_from_other_processes(engine: Engine) {
    let db = engine.open().await;
    for errors in [1, 2] {
        figures::write(&db, &process("a", START), &[minute(START, errors, &[3, 0, 4])]).await.unwrap();
    }
    figures::write(&db, &process("b", START + 5), &[minute(START, 5, &[6])]).await.unwrap();
    figures::write(&db, &process("b", START + 9), &[]).await.unwrap();
    let mut found = figures::since(&db, START).await.unwrap();
    found.sort_by_key(|minute| minute.errors);
    assert_eq!(found, [minute(START, 2, &[3, 0, 4]), minute(START, 5, &[6])]);
    assert_eq!(figures::since(&db, START + 1).await.unwrap(), []);
    assert_eq!(figures::processes(&db, START).await.unwrap(), [process("a", START), process("b", START + 9)]);
    figures::end(&db, "a").await.unwrap();
    assert_eq!(figures::processes(&db, START + 1).await.unwrap(), [process("b", START + 9)]);
}

async fn old_figures_are_removed(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    figures::write(&db, &process("old", START), &[minute(START, 0, &[1])]).await.unwrap();
    clock.advance(DAY);
    figures::prune(&db, DAY).await.unwrap();
    assert_eq!(figures::since(&db, 0).await.unwrap().len(), 1, "it is a day old");
    clock.advance(Duration::from_millis(1));
    figures::prune(&db, DAY).await.unwrap();
    assert_eq!(
        (figures::since(&db, 0).await.unwrap(), figures::processes(&db, 0).await.unwrap()),
        (vec![], vec![])
    );
}
