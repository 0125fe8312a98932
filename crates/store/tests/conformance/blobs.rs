//! Blobs: whole or not at all, on files and on S3.

use bytes::Bytes;
use e2e::s3::S3;
use futures_util::{StreamExt, TryStreamExt, stream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use store::{BlobError, Blobs, S3Settings};
use tempfile::TempDir;

const MIB: usize = 1024 * 1024;

/// An empty object store.
enum Place {
    Files(TempDir),
    S3(S3),
}

impl Place {
    async fn open(&self) -> Blobs {
        match self {
            Place::Files(folder) => {
                let url = format!("file://{}/objects", folder.path().display());
                Blobs::open(&url, S3Settings::default()).await.unwrap()
            }
            Place::S3(server) => {
                let url = format!("s3://{}/some/prefix", server.bucket);
                Blobs::open(&url, settings(server)).await.unwrap()
            }
        }
    }

    fn folder(&self) -> &Path {
        match self {
            Place::Files(folder) => folder.path(),
            Place::S3(server) => server.folder(),
        }
    }
}

fn settings(server: &S3) -> S3Settings {
    S3Settings {
        endpoint: Some(server.endpoint.clone()),
        access_key_id: Some(server.access_key_id.clone()),
        secret_access_key: Some(server.secret_access_key.clone()),
        allow_http: true,
        ..S3Settings::default()
    }
}

macro_rules! on_files_and_s3 {
    ($($test:ident),* $(,)?) => {
        mod files {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(super::Place::Files(tempfile::tempdir().unwrap())).await;
            })*
        }
        mod s3 {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(super::Place::S3(e2e::s3::S3::start().await)).await;
            })*
        }
    };
}

on_files_and_s3![
    what_is_put_is_seen_by_a_new_handle,
    odd_keys_come_back,
    bad_keys_are_refused,
    an_object_is_replaced,
    a_large_stream_passes_in_pieces,
    a_stream_over_the_limit_leaves_nothing,
    a_stream_that_breaks_leaves_what_was_there,
    a_dropped_upload_leaves_nothing,
    a_reader_never_sees_half_an_object,
    reading_has_a_limit,
    a_prefix_lists_its_keys,
];

async fn get(blobs: &Blobs, key: &str) -> Option<Bytes> {
    blobs.get(key, u64::MAX).await.unwrap()
}

async fn keys(blobs: &Blobs, prefix: &str) -> Vec<String> {
    let mut keys: Vec<String> = blobs.list(prefix).map_ok(|listed| listed.key).try_collect().await.unwrap();
    keys.sort();
    keys
}

/// All files below a folder but the locks.
fn files_below(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => files.extend(files_below(&path)),
            path if path.ends_with("lock") => {}
            path => files.push(path.display().to_string()),
        }
    }
    files
}

fn pieces(count: usize, size: usize) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> {
    stream::iter((0..count).map(move |n| Ok(Bytes::from(vec![n as u8; size]))))
}

async fn what_is_put_is_seen_by_a_new_handle(place: Place) {
    let blobs = place.open().await;
    blobs.ping().await.unwrap();
    blobs.put("a/b/c.txt", Bytes::from("hello")).await.unwrap();
    let other = place.open().await;
    assert_eq!(get(&other, "a/b/c.txt").await.unwrap(), "hello");
    assert_eq!(get(&other, "a/b/missing").await, None);
    if matches!(place, Place::Files(_)) {
        assert_eq!(get(&other, "a/b").await, None, "a folder is no object");
    }
    assert!(other.get_stream("missing").await.unwrap().is_none());
    other.delete("a/b/c.txt").await.unwrap();
    other.delete("a/b/c.txt").await.unwrap();
    assert_eq!(get(&blobs, "a/b/c.txt").await, None);
}

async fn odd_keys_come_back(place: Place) {
    let blobs = place.open().await;
    let odd = ["50% off.pdf", "a#1", "a#b", "%23", "a b/ü 履歴.md", "~+&=;,'(x)[y]{z}", "back\\slash", "..."];
    for key in odd {
        blobs.put(key, Bytes::from(key)).await.unwrap();
    }
    for key in odd {
        assert_eq!(get(&blobs, key).await.unwrap(), key);
    }
    let mut sorted = odd.to_vec();
    sorted.sort_unstable();
    assert_eq!(keys(&blobs, "").await, sorted);
}

async fn bad_keys_are_refused(place: Place) {
    let blobs = place.open().await;
    for key in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/", "nul\0", &"x".repeat(256)] {
        let put = blobs.put(key, Bytes::from("x")).await;
        assert!(matches!(put, Err(BlobError::InvalidKey(_))), "put {key:?}");
        assert!(matches!(blobs.get(key, 1).await, Err(BlobError::InvalidKey(_))), "get {key:?}");
        assert!(matches!(blobs.delete(key).await, Err(BlobError::InvalidKey(_))), "delete {key:?}");
    }
}

async fn an_object_is_replaced(place: Place) {
    let blobs = place.open().await;
    blobs.put("a", Bytes::from("1")).await.unwrap();
    assert_eq!(get(&blobs, "a").await.unwrap(), "1");
    blobs.put("a", Bytes::from("3")).await.unwrap();
    assert_eq!(get(&blobs, "a").await.unwrap(), "3");
    assert_eq!(keys(&blobs, "").await, ["a"]);
}

async fn a_large_stream_passes_in_pieces(place: Place) {
    let blobs = place.open().await;
    let size = blobs.put_stream("big", pieces(41, MIB / 2), 21 * MIB as u64).await.unwrap();
    assert_eq!(size, 41 * MIB as u64 / 2);
    let found = blobs.get_stream("big").await.unwrap().unwrap();
    assert_eq!(found.size, size);
    let mut at = 0;
    let mut bytes = found.bytes;
    while let Some(piece) = bytes.next().await {
        let piece = piece.unwrap();
        assert!(piece.iter().enumerate().all(|(n, byte)| usize::from(*byte) == (at + n) / (MIB / 2)));
        at += piece.len();
    }
    assert_eq!(at as u64, size);
    assert_eq!(blobs.put_stream("empty", pieces(0, 1), 10).await.unwrap(), 0);
    assert_eq!(get(&blobs, "empty").await.unwrap(), "");
}

async fn a_stream_over_the_limit_leaves_nothing(place: Place) {
    let blobs = place.open().await;
    // Both below the size of one part of an S3 upload, and above it.
    for (count, limit) in [(3, 2 * MIB as u64), (20, 19 * MIB as u64)] {
        let put = blobs.put_stream("big", pieces(count, MIB), limit).await;
        assert!(matches!(put, Err(BlobError::TooLarge { limit: told }) if told == limit));
    }
    assert_eq!(get(&blobs, "big").await, None);
    nothing_is_left(&place).await;
}

async fn nothing_is_left(place: &Place) {
    // Parts of an S3 upload are taken back in the background.
    let mut left = files_below(place.folder());
    for _ in 0..50 {
        if left.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        left = files_below(place.folder());
    }
    panic!("left behind: {left:?}");
}

async fn a_stream_that_breaks_leaves_what_was_there(place: Place) {
    let blobs = place.open().await;
    blobs.put("a", Bytes::from("before")).await.unwrap();
    let breaks = || stream::iter([Err(std::io::Error::other("hung up"))]);
    let put = blobs.put_stream("a", pieces(10, MIB).chain(breaks()), u64::MAX).await;
    assert!(put.unwrap_err().to_string().contains("hung up"));
    assert_eq!(get(&blobs, "a").await.unwrap(), "before");
    blobs.put_stream("b", breaks(), u64::MAX).await.unwrap_err();
    assert_eq!(keys(&blobs, "").await, ["a"]);
}

async fn a_dropped_upload_leaves_nothing(place: Place) {
    let blobs = place.open().await;
    let endless = pieces(10, MIB).chain(stream::pending());
    let upload = blobs.put_stream("big", endless, u64::MAX);
    assert!(tokio::time::timeout(Duration::from_millis(500), upload).await.is_err());
    assert_eq!(keys(&blobs, "").await, [""; 0]);
    nothing_is_left(&place).await;
}

async fn a_reader_never_sees_half_an_object(place: Place) {
    let blobs = place.open().await;
    let versions = [Bytes::from(vec![b'a'; MIB]), Bytes::from(vec![b'b'; MIB / 2])];
    blobs.put("x", versions[0].clone()).await.unwrap();
    let writer = {
        let blobs = blobs.clone();
        let versions = versions.clone();
        tokio::spawn(async move {
            for n in 0..20 {
                blobs.put("x", versions[n % 2].clone()).await.unwrap();
            }
        })
    };
    while !writer.is_finished() {
        let seen = get(&blobs, "x").await.unwrap();
        assert!(versions.contains(&seen), "{} bytes", seen.len());
    }
    writer.await.unwrap();
}

async fn reading_has_a_limit(place: Place) {
    let blobs = place.open().await;
    blobs.put("a", Bytes::from("12345")).await.unwrap();
    assert_eq!(blobs.get("a", 5).await.unwrap().unwrap(), "12345");
    assert!(matches!(blobs.get("a", 4).await, Err(BlobError::TooLarge { limit: 4 })));
}

async fn a_prefix_lists_its_keys(place: Place) {
    let blobs = place.open().await;
    for key in ["docs/1/a", "docs/1/b", "docs/10/a", "other/x"] {
        blobs.put(key, Bytes::from(key)).await.unwrap();
    }
    assert_eq!(keys(&blobs, "docs/1/").await, ["docs/1/a", "docs/1/b"]);
    assert_eq!(keys(&blobs, "docs/1").await, ["docs/1/a", "docs/1/b", "docs/10/a"]);
    assert_eq!(keys(&blobs, "nothing/").await, [""; 0]);
    let listed: Vec<_> = blobs.list("other/").try_collect().await.unwrap();
    assert_eq!((listed.len(), listed[0].size), (1, 7));
    assert!(listed[0].modified_at > 1_700_000_000_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_of_a_file_in_a_new_folder_all_succeed() {
    let place = Place::Files(tempfile::tempdir().unwrap());
    let handles = [place.open().await, place.open().await];
    for key in (0..40).map(|n| format!("new/folder{n}/a")) {
        let puts = (0..8).map(|n| {
            let (blobs, key) = (handles[n % 2].clone(), key.clone());
            tokio::spawn(async move { blobs.put(&key, Bytes::from(vec![n as u8])).await })
        });
        for put in futures_util::future::join_all(puts).await {
            put.unwrap().unwrap();
        }
        assert_eq!(get(&handles[0], &key).await.unwrap().len(), 1, "{key}");
    }
}

#[tokio::test]
async fn files_and_folders_are_private() {
    let place = Place::Files(tempfile::tempdir().unwrap());
    let blobs = place.open().await;
    blobs.put("a/b", Bytes::from("x")).await.unwrap();
    blobs.put_stream("a/c", pieces(1, 1), 10).await.unwrap();
    let mode = |path: &str| {
        let metadata = std::fs::metadata(place.folder().join(path)).unwrap();
        metadata.permissions().mode() & 0o777
    };
    assert_eq!((mode("objects"), mode("objects/a")), (0o700, 0o700));
    assert_eq!((mode("objects/a/b"), mode("objects/a/c")), (0o600, 0o600));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_process_was_writing_is_removed_and_what_others_write_is_not() {
    let place = Place::Files(tempfile::tempdir().unwrap());
    let uploads = place.folder().join("objects/#uploads");
    let dead = uploads.join("999-0");
    std::fs::create_dir_all(&dead).unwrap();
    std::fs::write(dead.join("lock"), "").unwrap();
    std::fs::write(dead.join("upload#1"), "half").unwrap();

    let living = place.open().await;
    assert!(!dead.exists());
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    let rest = stream::once(async move {
        receiver.await.unwrap();
        Ok(Bytes::from(" world"))
    });
    let slow = stream::iter([Ok::<_, std::io::Error>(Bytes::from("hello"))]).chain(rest);
    let upload = {
        let living = living.clone();
        tokio::spawn(async move { living.put_stream("a", slow, 100).await.unwrap() })
    };
    tokio::time::sleep(Duration::from_millis(200)).await;
    place.open().await;
    sender.send(()).unwrap();
    upload.await.unwrap();
    assert_eq!(get(&living, "a").await.unwrap(), "hello world");
    assert_eq!(keys(&living, "").await, ["a"]);
    drop(living);
    assert_eq!(std::fs::read_dir(&uploads).unwrap().count(), 1, "only the lock stays");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_place_is_told() {
    let error = async |url: &str, settings: S3Settings| match Blobs::open(url, settings).await {
        Ok(blobs) => blobs.ping().await.unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    let unknown = error("gs://bucket", S3Settings::default()).await;
    assert_eq!(unknown, "unknown object store scheme `gs`: one of file:///folder, s3://bucket/prefix");
    assert!(error("file://relative", S3Settings::default()).await.contains("must be absolute"));
    assert!(error("s3://", S3Settings::default()).await.contains("names no bucket"));

    let server = S3::start().await;
    let missing = error("s3://missing-bucket", settings(&server)).await;
    assert!(missing.contains("NoSuchBucket"), "{missing}");
    let wrong_key = S3Settings { secret_access_key: Some("wrong".into()), ..settings(&server) };
    let refused = error(&format!("s3://{}", server.bucket), wrong_key).await;
    assert!(refused.contains("SignatureDoesNotMatch") && !refused.contains("wrong"), "{refused}");
}
