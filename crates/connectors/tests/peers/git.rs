//! Git repositories over `file://`, and over HTTP with git's own server behind the test's.

use connectors::{Environment, ItemError, Reading, Settings};
use std::path::{Path, PathBuf};

use crate::git_server::{GitServer, Repository};
use crate::support::{Opened, open, open_with};

impl Repository {
    pub fn environment(&self) -> Environment {
        Environment {
            folder_roots: vec![self.path()],
            allow_private_addresses: true,
            work_folder: self.folder.path().join("work"),
            ..Environment::default()
        }
    }

    pub fn copy(&self) -> PathBuf {
        self.folder.path().join("work/git/source-1")
    }

    async fn open(&self, branch: &str, folder: &str) -> Opened {
        open(&self.settings(branch, folder), &self.environment()).await.unwrap()
    }

    fn settings(&self, branch: &str, folder: &str) -> Settings {
        settings(&format!("file://{}", self.path().display()), branch, folder)
    }
}

pub fn settings(url: &str, branch: &str, folder: &str) -> Settings {
    Settings::Git {
        url: url.to_owned(),
        branch: branch.to_owned(),
        folder: folder.to_owned(),
        username: String::new(),
    }
}

#[tokio::test]
async fn the_text_files_of_a_branch_are_read() {
    let repository = Repository::new();
    let large = vec![b'x'; 3_000_000];
    repository.commit(&[
        ("README.md", b"# Hello"),
        ("docs/a ü.txt", &large),
        ("docs/empty.txt", b""),
        ("picture.gif", b"GIF89a\0\0"),
        ("large.bin", &vec![0; 2_000_000]),
        ("manual.pdf", b"%PDF-1.7\0"),
        ("wide.txt", b"\xff\xfea\0b\0"),
        ("pointer.txt", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
    ]);
    std::os::unix::fs::symlink("/etc/passwd", repository.path().join("link.txt")).unwrap();
    repository.commit(&[]);
    let mut opened = repository.open("", "").await;
    let items = opened.list().await.unwrap();
    let mut results = Vec::new();
    for item in &items {
        results.push((
            item.path.as_str(),
            match opened.read(item, "").await.unwrap() {
                (Reading::Skipped { reason, .. }, content) => {
                    assert!(content.is_empty());
                    reason
                }
                (_, content) => content.len().to_string(),
            },
        ));
    }
    assert_eq!(
        results,
        [
            ("README.md", "7".to_owned()),
            ("docs/a ü.txt", "3000000".to_owned()),
            ("docs/empty.txt", "0".to_owned()),
            ("large.bin", "it is not a text".to_owned()),
            ("manual.pdf", "9".to_owned()),
            ("picture.gif", "it is not a text".to_owned()),
            ("pointer.txt", "it is kept in Git LFS, which is not read".to_owned()),
            ("wide.txt", "6".to_owned()),
        ]
    );
    let (state, filename, content) = opened.content(&items[1]).await;
    assert!(filename == "a ü.txt" && content == large);
    assert_eq!(opened.read(&items[1], &state).await.unwrap().0, Reading::Unchanged);
    assert_eq!(repository.open("", "docs/").await.paths().await, ["docs/a ü.txt", "docs/empty.txt"]);
}

#[tokio::test]
async fn a_later_fetch_brings_what_has_changed_and_another_branch() {
    let repository = Repository::new();
    repository.commit(&[("a.txt", b"one"), ("b.txt", b"b")]);
    let before = repository.open("main", "").await.list().await.unwrap();
    repository.git(&["rm", "--quiet", "b.txt"]);
    repository.commit(&[("a.txt", b"two")]);
    let mut opened = repository.open("main", "").await;
    let after = opened.list().await.unwrap();
    assert_eq!(after.iter().map(|item| item.path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
    assert_ne!(after[0].version, before[0].version);
    assert_eq!(opened.content(&after[0]).await.2, b"two");

    repository.git(&["checkout", "--quiet", "-b", "other"]);
    repository.commit(&[("c.txt", b"c")]);
    repository.git(&["checkout", "--quiet", "main"]);
    assert_eq!(repository.open("other", "").await.paths().await, ["a.txt", "c.txt"]);
    // A killed git leaves its locks.
    for lock in ["shallow.lock", "refs/stoa/tip.lock", "HEAD.lock", "config.lock"] {
        std::fs::write(repository.copy().join(lock), "").unwrap();
    }
    // History that was rewritten is no reason to fail.
    repository.git(&["commit", "--quiet", "--amend", "--message=other"]);
    assert_eq!(repository.open("main", "").await.paths().await, ["a.txt"]);
    for number in 0..12 {
        repository.commit(&[("a.txt", number.to_string().as_bytes())]);
        repository.open("main", "").await;
    }
    let files = std::fs::read_dir(repository.copy().join("objects/pack")).unwrap();
    let packs =
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "pack"));
    assert!((1..=11).contains(&packs.count()), "old packs are dropped");
    assert_eq!(repository.open("main", "").await.paths().await, ["a.txt"]);
}

#[tokio::test]
async fn ten_thousand_files_are_listed_in_pages() {
    let repository = Repository::new();
    let names: Vec<String> = (0..10_000).map(|number| format!("{}/{number}.txt", number % 10)).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), name.as_bytes())).collect();
    repository.commit(&files);
    let mut opened = repository.open("", "").await;
    let items = opened.list().await.unwrap();
    assert_eq!(items.len(), 10_000);
    for item in items.iter().step_by(100) {
        assert_eq!(opened.content(item).await.2, item.path.as_bytes());
    }
    let missing = connectors::Item { path: "x".to_owned(), version: "0".repeat(40) };
    assert_eq!(opened.read(&missing, "").await, Err(ItemError::Item("it is gone".to_owned())));
    assert_eq!(opened.content(&items[0]).await.2, items[0].path.as_bytes());
}

#[tokio::test]
async fn what_is_wrong_with_a_repository_is_said_and_is_no_empty_list() {
    let repository = Repository::new();
    let failed = async |branch: &str, folder: &str| match open(
        &repository.settings(branch, folder),
        &repository.environment(),
    )
    .await
    {
        Ok(mut opened) => opened.list().await.expect_err("an error").message,
        Err(error) => error.message,
    };
    assert!(failed("", "").await.contains("couldn't find remote ref HEAD"), "an empty repository");
    repository.commit(&[("a.txt", b"a")]);
    assert!(failed("missing", "").await.contains("couldn't find remote ref refs/heads/missing"));
    assert!(failed("", "missing").await.starts_with("git: fatal: "), "{}", failed("", "missing").await);
    assert_eq!(failed("--upload-pack=x", "").await, "`branch` is not the name of a branch, such as `main`");
    assert!(failed("", "../x").await.starts_with("`folder` is not a folder of the repository"));
    let outside = Environment { folder_roots: vec!["/var".into()], ..repository.environment() };
    let refused = connectors::check(&repository.settings("", ""), &outside).unwrap_err();
    assert_eq!(refused.message, "`url` is not below a folder of FOLDER_ROOTS");
}

fn has_text(folder: &Path, text: &[u8]) -> bool {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.into_iter().any(|path| match path.is_dir() {
        true => has_text(&path, text),
        false => std::fs::read(path).unwrap().windows(text.len()).any(|window| window == text),
    })
}

#[tokio::test]
async fn a_repository_is_read_over_http_with_a_password() {
    let repository = Repository::new();
    repository.commit(&[("a.txt", b"over http")]);
    let server = GitServer::start(&repository.path(), "ada:s3cret").await;
    let with_name = Settings::Git {
        url: server.url(),
        branch: String::new(),
        folder: String::new(),
        username: "ada".to_owned(),
    };
    let mut opened = open_with(&with_name, Some("s3cret"), &repository.environment()).await.unwrap();
    let items = opened.list().await.unwrap();
    assert_eq!(opened.content(&items[0]).await.2, b"over http");
    assert!(!has_text(&repository.copy(), b"s3cret"), "the password is not in the copy");

    for secret in [Some("wrong"), None] {
        let refused = open_with(&with_name, secret, &repository.environment()).await.err().unwrap();
        assert_eq!(refused.message, "the server of the repository wants another `username` or secret");
    }
    let public = Environment { allow_private_addresses: false, ..repository.environment() };
    let refused = open_with(&with_name, Some("s3cret"), &public).await.err().unwrap();
    assert!(refused.message.starts_with("`url` is refused: 127.0.0.1 is an address of"), "{refused}");
}

#[tokio::test]
async fn a_repository_of_plain_files_is_read_and_a_redirect_is_not_followed() {
    let repository = Repository::new();
    repository.commit(&[("a.txt", b"plain files")]);
    repository.git(&["update-server-info"]);
    let server = GitServer::start_plain(&repository.path().join(".git")).await;
    let mut opened = open(&settings(&server.url(), "main", ""), &repository.environment()).await.unwrap();
    let items = opened.list().await.unwrap();
    assert_eq!(opened.content(&items[0]).await.2, b"plain files");

    let site = crate::site::Site::start().await;
    let refs = "info/refs?service=git-upload-pack";
    site.redirect(&format!("/x/{refs}"), &format!("{}/{refs}", server.url()));
    let refused =
        open(&settings(&site.url("/x"), "main", ""), &repository.environment()).await.err().unwrap();
    assert!(refused.message.contains("redirect") || refused.message.contains("302"), "{refused}");
}

/// Git's own server of `git://`, which finds repositories in folders with the names of hosts.
struct Daemon {
    child: std::process::Child,
    port: u16,
}

impl Daemon {
    async fn start(hosts: &Path) -> Daemon {
        let programs = std::process::Command::new("git").arg("--exec-path").output().unwrap().stdout;
        let program = Path::new(String::from_utf8(programs).unwrap().trim()).join("git-daemon");
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = std::process::Command::new(program);
        command.args(["--export-all", "--listen=127.0.0.1", &format!("--port={port}")]);
        command.arg(format!("--interpolated-path={}/%H%D", hosts.display()));
        let child = command.spawn().unwrap();
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        Daemon { child, port }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_server_of_many_hosts_learns_the_name_that_was_resolved_before() {
    let repository = Repository::new();
    repository.commit(&[("a.txt", b"over git")]);
    std::os::unix::fs::symlink(".", repository.folder.path().join("localhost")).unwrap();
    let daemon = Daemon::start(repository.folder.path()).await;
    let url = format!("git://localhost:{}/repository", daemon.port);
    let mut opened = open(&settings(&url, "main", ""), &repository.environment()).await.unwrap();
    let items = opened.list().await.unwrap();
    assert_eq!(opened.content(&items[0]).await.2, b"over git");
    let elsewhere = url.replace("localhost", "127.0.0.1");
    assert!(open(&settings(&elsewhere, "main", ""), &repository.environment()).await.is_err());
}

#[tokio::test]
async fn a_tree_that_holds_itself_many_times_does_not_list_without_end() {
    let repository = Repository::new();
    repository.commit(&[("a.txt", b"a")]);
    // Seven levels of ten folders, each the same tree: ten million paths of a few hundred bytes.
    let script = "tree=$(git rev-parse HEAD^{tree}); for level in 1 2 3 4 5 6 7; do \
        tree=$(for n in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\\t%s\\n' $tree $n; done | git mktree); done; \
        git -c user.name=a -c user.email=a@b update-ref refs/heads/bomb \
        $(git -c user.name=a -c user.email=a@b commit-tree -m x $tree)";
    let made = std::process::Command::new("sh").args(["-c", script]).current_dir(repository.path()).output();
    assert!(made.as_ref().is_ok_and(|made| made.status.success()), "{made:?}");
    let failed = repository.open("bomb", "").await.list().await.unwrap_err();
    assert!(failed.message.contains("more than 1000000 items"), "{failed}");
}
