//! The two database engines, and the macro that runs each test on both.

use base::{Clock, Random};
use e2e::postgres::Postgres;
use store::Db;
use tempfile::TempDir;

pub const START: i64 = 1_794_709_061_250;

/// An empty database.
pub struct Engine {
    pub url: String,
    _folder: Option<TempDir>,
}

impl Engine {
    pub fn sqlite() -> Engine {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/stoa.db", folder.path().display());
        Engine { url, _folder: Some(folder) }
    }

    pub async fn postgres() -> Engine {
        Engine { url: Postgres::shared().await.database().await, _folder: None }
    }

    /// A handle of its own, as another process would have it.
    pub async fn open(&self) -> Db {
        self.open_at(&Clock::system()).await
    }

    pub async fn open_at(&self, clock: &Clock) -> Db {
        Db::open(&self.url, clock.clone(), Random::system()).await.unwrap()
    }
}

macro_rules! on_both_engines {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::engine::Engine::sqlite()).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::engine::Engine::postgres().await).await;
            })*
        }
    };
}

pub(crate) use on_both_engines;
