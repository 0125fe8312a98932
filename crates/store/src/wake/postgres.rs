//! `NOTIFY` in the transaction, and one `LISTEN` connection per process.

use sqlx::AnyConnection;
use sqlx::postgres::PgListener;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use super::{Hub, decode, encode};
use crate::StoreError;

const CHANNEL: &str = "stoa_wake";
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
/// A notification holds at most 8,000 bytes, and a topic takes 16.
const TOPICS_PER_NOTIFICATION: usize = 400;

/// Returns once it listens, so that whoever has a `Db` misses nothing.
pub(crate) async fn listen(url: &str, hub: Arc<Hub>, stopped: CancellationToken) -> Result<(), StoreError> {
    let listener = connect(url).await?;
    let url = url.to_owned();
    tokio::spawn(async move {
        tokio::select! {
            () = stopped.cancelled() => {}
            () = forward_for_ever(listener, &url, &hub) => {}
        }
    });
    Ok(())
}

async fn connect(url: &str) -> Result<PgListener, sqlx::Error> {
    let mut listener = PgListener::connect(url).await?;
    listener.listen(CHANNEL).await?;
    Ok(listener)
}

async fn forward_for_ever(listener: PgListener, url: &str, hub: &Hub) {
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

/// Returns what broke it.
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
            // The connection was lost and is there again: nobody knows what was said in between.
            Ok(None) => hub.publish_all(),
            Err(error) => return error,
        }
    }
}

/// Always one statement at least: PostgreSQL answers the `COMMIT` of a transaction that has already failed
/// with a rollback and without an error, and this statement turns that into one.
pub(crate) async fn record(
    connection: &mut AnyConnection,
    sender: u64,
    topics: &[u64],
) -> Result<(), sqlx::Error> {
    if topics.is_empty() {
        sqlx::query("SELECT 1").execute(&mut *connection).await?;
    }
    for chunk in topics.chunks(TOPICS_PER_NOTIFICATION) {
        let payload = encode(&[sender]) + &encode(chunk);
        let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(payload);
        notify.execute(&mut *connection).await?;
    }
    Ok(())
}
