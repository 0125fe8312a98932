//! A PostgreSQL server that is restarted, paused, and replaced by its replica, under load.

use crate::load::{Clients, Ledger};
use crate::start;
use e2e::postgres::Pair;
use e2e::{Crm, Vendor};
use std::time::Duration;

const ANSWER: &str = "A short and sufficient answer of the model.";

#[tokio::test(flavor = "multi_thread")]
async fn the_database_hangs_breaks_and_fails_over_to_its_replica() {
    let (vendor, crm, ledger) = (Vendor::start(ANSWER).await, Crm::start().await, Ledger::default());
    let pair = Pair::start().await;
    let stoa = start(&vendor, &crm).set("DATABASE_URL", pair.url()).set("DATABASE_CONNECTIONS", 10).serve();
    let clients = Clients::of(&stoa).await;
    let subjects = clients.subjects().await;
    let faults = async {
        let pause = || tokio::time::sleep(Duration::from_millis(1500));
        pause().await;
        pair.proxy.hang();
        pause().await;
        pair.proxy.mend();
        pause().await;
        pair.proxy.cut();
        pause().await;
        pair.proxy.mend();
        pause().await;
        pair.fail_over().await;
        tokio::time::sleep(Duration::from_secs(4)).await;
    };
    tokio::select! {
        () = clients.keep_working(&ledger, &subjects) => {}
        () = faults => {}
    }
    ledger.check(&clients, &subjects, &crm, &pair.url()).await;
}
