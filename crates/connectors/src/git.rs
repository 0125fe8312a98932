//! The text files of a Git repository, at the tip of one branch. `git` itself keeps a shallow copy in the work folder.

mod command;
mod objects;
mod remote;
mod tree;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::path::{Path, PathBuf};

use crate::documents::{is_document, is_picture};
use crate::{ConnectError, Connector, Environment, Found, Item, ItemError, Reading, Settings, Sink};

use command::Git;
use objects::Objects;
use remote::Remote;
pub(crate) use remote::is_local;
use tree::Tree;

/// By this name the copy knows the branch that is read.
const TIP: &str = "refs/stoa/tip";
/// Each fetch leaves a pack. With more than these they are made one, and what is no longer needed is dropped.
const MOST_PACKS: usize = 10;
/// Bytes of the copy.
const MOST_BYTES: u64 = 4 << 30;
/// A file with a zero byte among its first ones is not text. `git` looks at as many.
const LOOKED_AT: usize = 8_000;
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

pub(crate) struct Repository {
    tree: Tree,
    objects: Objects,
}

pub(crate) fn check(settings: &Settings, environment: &Environment) -> Result<(), ConnectError> {
    let Settings::Git { url, branch, folder, .. } = settings else { return Ok(()) };
    let has_control = |text: &str| text.contains(char::is_control);
    if branch.starts_with('-')
        || has_control(branch)
        || branch.contains([' ', ':', '*', '?', '[', '\\', '^', '~'])
    {
        return Err(ConnectError::new("`branch` is not the name of a branch, such as `main`"));
    }
    let has_odd_part = || folder.trim_end_matches('/').split('/').any(|part| matches!(part, "" | "." | ".."));
    if !folder.is_empty() && (has_control(folder) || has_odd_part()) {
        return Err(ConnectError::new("`folder` is not a folder of the repository, such as `docs/manual`"));
    }
    Remote::parse(url, environment).map(drop)
}

impl Repository {
    pub async fn open(
        settings: &Settings,
        secret: Option<&str>,
        source_id: &str,
        environment: &Environment,
    ) -> Result<Repository, ConnectError> {
        check(settings, environment)?;
        let Settings::Git { url, branch, folder, username } = settings else {
            return Err(ConnectError::new("these are no settings of a Git repository"));
        };
        let copy = copy_folder(source_id, environment)?;
        let remote = Remote::parse(url, environment)?;
        let most = environment.copy_room.unwrap_or(MOST_BYTES).min(MOST_BYTES);
        let mut git = Git::new(copy, secret, most).await?;
        let address = remote.prepare(&mut git, username, secret, environment).await?;
        if let Err(error) = fetch(&git, &address, branch).await {
            // The system ends it when it writes more than it may, and it cannot say so.
            let is_full = copy_bytes(source_id, environment).await >= git.most_file_bytes();
            git.remove_leftovers().await;
            return Err(if is_full { too_large(&git) } else { error });
        }
        tidy(&git).await?;
        git.forget_secret();
        let tree = Tree::open(&git, TIP, folder)?;
        Ok(Repository { tree, objects: Objects::new(git) })
    }

    async fn read_file(
        &mut self,
        item: &Item,
        known: &str,
        sink: &mut dyn Sink,
    ) -> Result<Reading, ItemError> {
        if known == item.version {
            return Ok(Reading::Unchanged);
        }
        let filename = item.path.rsplit('/').next().unwrap_or_default().to_owned();
        let mut content = self.objects.open(&item.version).await?;
        let start = content.next_pieces(LOOKED_AT).await?;
        if start.starts_with(LFS_POINTER) {
            content.skip().await?;
            return Ok(Reading::skipped("it is kept in Git LFS, which is not read"));
        }
        // In UTF-16 every other byte of most texts is zero.
        let has_mark = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
        let is_text = has_mark || !start.iter().take(LOOKED_AT).any(|byte| *byte == 0);
        if !is_text && !is_document(&filename) && !is_picture(&filename) {
            content.skip().await?;
            return Ok(Reading::skipped("it is not a text"));
        }
        sink.write(&start)?;
        while let Some(piece) = content.next_piece().await? {
            sink.write(piece)?;
        }
        Ok(Reading::Read(Found { state: item.version.clone(), filename, ..Found::default() }))
    }
}

impl Connector for Repository {
    fn next_items(&mut self) -> BoxFuture<'_, Result<Option<Vec<Item>>, ConnectError>> {
        self.tree.next_page().boxed()
    }

    fn read<'a>(
        &'a mut self,
        item: &'a Item,
        known: &'a str,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reading, ItemError>> {
        self.read_file(item, known, sink).boxed()
    }
}

/// Returns where the copy of a source is kept.
fn copy_folder(source_id: &str, environment: &Environment) -> Result<PathBuf, ConnectError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if source_id.is_empty() || !source_id.chars().all(is_name) {
        return Err(ConnectError::new("the id of the source cannot be the name of a folder"));
    }
    Ok(environment.work_folder.join("git").join(source_id))
}

/// Brings the tip of the branch into the copy.
async fn fetch(git: &Git, address: &str, branch: &str) -> Result<(), ConnectError> {
    let source = if branch.is_empty() { "HEAD".to_owned() } else { format!("refs/heads/{branch}") };
    let refspec = format!("+{source}:{TIP}");
    let plain = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];
    let shallow = [plain.as_slice(), &["--depth=1", "--", address, &refspec]].concat();
    match git.run(&shallow).await {
        // A repository that is served as plain files can only be copied as a whole.
        Err(error) if error.message.contains("dumb http transport does not support shallow") => {
            let whole = [plain.as_slice(), &["--", address, &refspec]].concat();
            git.run(&whole).await?;
        }
        // It would ask for another password now, if there were a person to answer.
        Err(error) if error.message.contains("could not read Username") => {
            return Err(ConnectError::new("the server of the repository wants another `username` or secret"));
        }
        fetched => fetched?,
    }
    Ok(())
}

/// Makes one pack of many, and refuses a copy that is too large.
async fn tidy(git: &Git) -> Result<(), ConnectError> {
    let packs = git.packs().await;
    if packs.len() <= MOST_PACKS && packs.iter().sum::<u64>() <= git.most_bytes {
        return Ok(());
    }
    git.run(&["gc", "--quiet", "--prune=now"]).await?;
    if git.packs().await.iter().sum::<u64>() <= git.most_bytes {
        return Ok(());
    }
    let _ = tokio::fs::remove_dir_all(git.copy()).await;
    Err(too_large(git))
}

fn too_large(git: &Git) -> ConnectError {
    let most = git.most_bytes;
    ConnectError::new(match most {
        MOST_BYTES => format!("the repository has more than {} MiB", most >> 20),
        most => {
            format!("the copy of the repository would take more than the {most} bytes that the quota leaves")
        }
    })
}

/// Returns how many bytes the copy of a source takes.
pub(crate) async fn copy_bytes(source_id: &str, environment: &Environment) -> u64 {
    let Ok(copy) = copy_folder(source_id, environment) else { return 0 };
    tokio::task::spawn_blocking(move || bytes_below(&copy)).await.unwrap_or_default()
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(state) if state.is_dir() => bytes_below(&entry.path()),
        Ok(state) => state.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

/// Removes the copy of a source.
pub(crate) async fn remove_copy(source_id: &str, environment: &Environment) {
    if let Ok(copy) = copy_folder(source_id, environment) {
        let _ = tokio::fs::remove_dir_all(copy).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_copy_that_is_too_large_is_not_kept() {
        let folder = std::env::temp_dir().join(format!("stoa-git-{}", std::process::id()));
        let git = async |most| Git::new(folder.clone(), None, most).await.unwrap();
        let roomy = git(2 << 20).await;
        std::fs::write(folder.join("objects/pack/pack-1.pack"), vec![0; 2 << 20]).unwrap();
        assert_eq!(tidy(&roomy).await, Ok(()));
        let refused = tidy(&git(1 << 20).await).await.unwrap_err().message;
        assert!(refused.contains("1048576 bytes that the quota leaves"), "{refused}");
        assert!(!folder.exists());
    }
}
