//! Places that documents come from: a folder of the server, an S3 bucket, web pages, a Git repository, a mailbox.
//!
//! A connector lists its items some at a time and reads one after the other into a sink, so that neither a long list nor
//! a large item is ever in memory. What is kept of items, and what becomes of them, is left to the caller. Knows no
//! service and no database.

mod documents;
mod error;
mod folder;
mod git;
mod imap;
mod listeners;
mod network;
mod s3;
mod settings;
mod web;

pub use error::{ConnectError, ItemError};
pub use folder::{Watcher, watch};
pub use listeners::Listeners;
pub use settings::{Environment, Settings, WebMode};

use futures_util::future::BoxFuture;
use std::time::Duration;

/// Something that a place has: a file, a page, a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Names it in its place, and stays the same as long as it is there.
    pub path: String,
    /// Changes whenever the content does; empty if only reading tells.
    pub version: String,
}

/// What became of reading an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It is as it was when its state was returned. Nothing was written.
    Unchanged,
    /// There is nothing in it to index, for this reason. The state is for a later reading, as that of [`Found`].
    Skipped { reason: String, state: String },
    /// All of its content was written.
    Read(Found),
}

impl Reading {
    pub fn skipped(reason: impl Into<String>) -> Reading {
        Reading::Skipped { reason: reason.into(), state: String::new() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// By which a later reading finds out whether it has changed; opaque to the caller.
    pub state: String,
    /// With an extension that tells what it is.
    pub filename: String,
    /// If the place knows a better one than the content tells.
    pub title: Option<String>,
    /// Where a person can open it, if there is such an address.
    pub address: Option<String>,
}

/// Takes the bytes of an item.
pub trait Sink: Send {
    /// Fails if there are too many, or if they cannot be kept.
    fn write(&mut self, piece: &[u8]) -> Result<(), ItemError>;
}

/// An open place.
pub trait Connector: Send {
    /// Returns the next items, at most 1,000; none at the end. Of a crawl, the pages that were read name the next ones.
    fn next_items(&mut self) -> BoxFuture<'_, Result<Option<Vec<Item>>, ConnectError>>;

    /// Reads an item that `next_items` has returned. `known` is the state of its last reading; empty if there was none.
    fn read<'a>(
        &'a mut self,
        item: &'a Item,
        known: &'a str,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reading, ItemError>>;
}

/// The most items that `next_items` returns at once.
const PAGE: usize = 1_000;
/// The most items of a place.
const MOST_ITEMS: usize = 1_000_000;
/// For reading one item, however slowly its place sends it.
const ITEM_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Counts what a place lists: a hostile one could go on without end.
#[derive(Default)]
struct Count(usize);

impl Count {
    fn add(&mut self, more: usize) -> Result<(), ConnectError> {
        self.0 = self.0.saturating_add(more);
        match self.0 {
            0..=MOST_ITEMS => Ok(()),
            _ => Err(ConnectError::new(format!(
                "the place has more than {MOST_ITEMS} items: choose a part of it"
            ))),
        }
    }
}

/// Ends a reading that takes too long. The place is at fault: each of its items could take as long.
async fn limited(reading: impl Future<Output = Result<Reading, ItemError>>) -> Result<Reading, ItemError> {
    let minutes = ITEM_TIMEOUT.as_secs() / 60;
    let too_slow = |_| Err(ItemError::Place(format!("an item was not read within {minutes} minutes")));
    tokio::time::timeout(ITEM_TIMEOUT, reading).await.unwrap_or_else(too_slow)
}

/// Checks what a person says about a place, without asking the place. Resolves no name.
pub fn check(settings: &Settings, environment: &Environment) -> Result<(), ConnectError> {
    match settings {
        Settings::Folder { path } => folder::check(path, environment).map(drop),
        Settings::S3 { .. } => s3::check(settings, environment).map(drop),
        Settings::Web { .. } => web::check(settings, environment).map(drop),
        Settings::Git { .. } => git::check(settings, environment),
        Settings::Imap { .. } => imap::check(settings, environment),
    }
}

/// Returns whether a place is of the server itself: a folder, or a repository in one.
pub fn is_local(settings: &Settings) -> bool {
    match settings {
        Settings::Folder { .. } => true,
        Settings::Git { url, .. } => git::is_local(url),
        Settings::S3 { .. } | Settings::Web { .. } | Settings::Imap { .. } => false,
    }
}

/// Returns how many bytes a source has of a copy of its place.
pub async fn copy_bytes(source_id: &str, environment: &Environment) -> u64 {
    git::copy_bytes(source_id, environment).await
}

/// Removes the copy that a source has of its place.
pub async fn remove_copy(source_id: &str, environment: &Environment) {
    git::remove_copy(source_id, environment).await;
}

/// Opens a place. `source_id` names the subfolder of the work folder that is the source's own.
pub async fn open(
    settings: &Settings,
    secret: Option<&str>,
    source_id: &str,
    environment: &Environment,
) -> Result<Box<dyn Connector>, ConnectError> {
    Ok(match settings {
        Settings::Folder { path } => Box::new(folder::Folder::open(path, environment).await?),
        Settings::S3 { .. } => Box::new(s3::S3::open(settings, secret, environment).await?),
        Settings::Web { .. } => Box::new(web::Web::open(settings, environment)?),
        Settings::Git { .. } => {
            Box::new(git::Repository::open(settings, secret, source_id, environment).await?)
        }
        Settings::Imap { .. } => Box::new(imap::Imap::open(settings, secret, environment).await?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_repositories_in_them_are_local() {
        let git = |url: &str| Settings::Git {
            url: url.to_owned(),
            branch: String::new(),
            folder: String::new(),
            username: String::new(),
        };
        assert!(is_local(&Settings::Folder { path: "/srv".to_owned() }));
        for url in ["/srv/a", "file:///srv/a", "FILE:///srv/a", "relative", "./a:b", ""] {
            assert!(is_local(&git(url)), "{url}");
        }
        for url in ["https://example.org/a", "git@example.org:a", "example.org:a/b", "ssh://a/b", "git://a/b"]
        {
            assert!(!is_local(&git(url)), "{url}");
        }
    }

    #[test]
    fn a_place_has_a_million_items_at_most() {
        let mut count = Count::default();
        assert_eq!(count.add(MOST_ITEMS), Ok(()));
        assert!(count.add(1).is_err_and(|error| error.message.contains("more than 1000000 items")));
    }
}
