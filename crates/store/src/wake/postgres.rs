//! Wake-ups between processes on PostgreSQL: `NOTIFY` in the transaction, and one `LISTEN` connection per process.

use sqlx::postgres::PgListener;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use super::{Hub, RECONNECT_PAUSE, decode, encode};
use crate::StoreError;
use crate::later::Later;

const CHANNEL: &str = "stoa_wake";
/// A notification holds at most 8,000 bytes, and a topic takes 16.
const TOPICS_PER_NOTIFICATION: usize = 400;

/// Forwards the wake-ups of other processes to `hub` until `stopped`. Returns once it listens, so that no subscriber of
/// the `Db` misses one.
pub(crate) async fn listen(url: &str, hub: Arc<Hub>, stopped: CancellationToken) -> Result<(), StoreError> {
    let listener = connect(url).await?;
    let url = url.to_owned();
    tokio::spawn(async move {
        tokio::select! {
            () = stopped.cancelled() => {}
            () = forward_until_stopped(listener, &url, &hub) => {}
        }
    });
    Ok(())
}

async fn connect(url: &str) -> Result<PgListener, sqlx::Error> {
    let mut listener = PgListener::connect(url).await?;
    listener.listen(CHANNEL).await?;
    Ok(listener)
}

async fn forward_until_stopped(listener: PgListener, url: &str, hub: &Hub) {
    let mut listener = Some(listener);
    loop {
        let broken = match listener.take() {
            Some(listening) => forward(listening, hub).await,
            None => match connect(url).await {
                Ok(listening) => {
                    hub.publish_all();
                    listener = Some(listening);
                    continue;
                }
                Err(error) => error,
            },
        };
        tracing::warn!(error = %broken, "lost the database's notifications, trying again");
        tokio::time::sleep(RECONNECT_PAUSE).await;
    }
}

/// Forwards wake-ups until the connection fails, and returns why.
async fn forward(mut listener: PgListener, hub: &Hub) -> sqlx::Error {
    loop {
        match listener.try_recv().await {
            Ok(Some(notification)) => {
                let numbers = decode(notification.payload());
                if let Some((sender, topics)) = numbers.split_first()
                    && *sender != hub.id()
                {
                    hub.publish(topics);
                }
            }
            // The connection was lost and is back: it is unknown what was sent in between.
            Ok(None) => hub.publish_all(),
            Err(error) => return error,
        }
    }
}

/// Sends the topics of a transaction to other processes, as part of it. Adds at least one statement: PostgreSQL answers
/// the `COMMIT` of a transaction that has already failed with a rollback and no error, and this statement fails then.
pub(crate) fn record(later: &mut Later, hub: &Hub, topics: &[u64]) {
    let mut messages: Vec<String> = topics.chunks(TOPICS_PER_NOTIFICATION).map(encode).collect();
    messages.iter_mut().for_each(|message| message.insert_str(0, &encode(&[hub.id()])));
    let calls: Vec<String> =
        (2..messages.len() + 2).map(|number| format!("pg_notify($1, ${number})")).collect();
    let mut statement = match calls.as_slice() {
        [] => later.add("SELECT 1"),
        calls => later.add(&format!("SELECT {}", calls.join(", "))).bind(CHANNEL),
    };
    for message in messages {
        statement = statement.bind(message);
    }
}
