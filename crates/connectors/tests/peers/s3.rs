//! An S3 bucket of s3s-fs, which checks signatures.

use crate::s3_server::S3;
use connectors::{Environment, ItemError, Reading, Settings};

use crate::site::Site;
use crate::support::{Opened, open, open_with};
use crate::web::private;

fn bucket(s3: &S3, prefix: &str) -> Settings {
    Settings::S3 {
        bucket: s3.bucket.clone(),
        prefix: prefix.to_owned(),
        endpoint: s3.endpoint.clone(),
        region: String::new(),
        access_key_id: s3.access_key_id.clone(),
    }
}

async fn open_bucket(s3: &S3, prefix: &str) -> Opened {
    open_with(&bucket(s3, prefix), Some(&s3.secret_access_key), &private()).await.unwrap()
}

fn write(s3: &S3, key: &str, content: impl AsRef<[u8]>) {
    let path = s3.folder().join(&s3.bucket).join(key);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

#[tokio::test]
async fn a_bucket_is_listed_in_pages_and_read() {
    let s3 = S3::start().await;
    for number in 0..2_500 {
        write(&s3, &format!("manuals/{number}.txt"), number.to_string());
    }
    write(&s3, "manual.txt", "m");
    write(&s3, "other/a b ü.txt", vec![b'x'; 3_000_000]);
    write(&s3, "other/empty.txt", "");
    assert_eq!(open_bucket(&s3, "").await.list().await.unwrap().len(), 2_502);
    assert_eq!(open_bucket(&s3, "manual").await.list().await.unwrap().len(), 2_501);
    let mut opened = open_bucket(&s3, "other/").await;
    let items = opened.list().await.unwrap();
    assert_eq!(items.len(), 1, "an empty object has nothing to index");
    assert_eq!(items[0].path, "other/a b ü.txt");
    let (state, filename, content) = opened.content(&items[0]).await;
    assert_eq!(filename, "a b ü.txt");
    assert!(content == vec![b'x'; 3_000_000]);
    assert_eq!(opened.read(&items[0], &state).await.unwrap().0, Reading::Unchanged);
    assert_eq!(open_bucket(&s3, "other/").await.list().await.unwrap(), items);

    write(&s3, "other/a b ü.txt", vec![b'y'; 3_000_000]);
    let changed = open_bucket(&s3, "other/").await.list().await.unwrap();
    assert_ne!(changed[0].version, items[0].version);
    assert!(opened.read(&changed[0], &state).await.unwrap().1 == vec![b'y'; 3_000_000]);
    std::fs::remove_dir_all(s3.folder().join(&s3.bucket).join("other")).unwrap();
    assert_eq!(opened.read(&changed[0], "").await, Err(ItemError::Item("it is gone".to_owned())));
}

#[tokio::test]
async fn what_is_wrong_with_a_bucket_is_said_and_is_no_empty_list() {
    let s3 = S3::start().await;
    write(&s3, "a.txt", "a");
    let mut wrong_secret = open_with(&bucket(&s3, ""), Some("wrong"), &private()).await.unwrap();
    assert!(wrong_secret.list().await.unwrap_err().message.starts_with("the bucket cannot be read"));
    let no_secret = open(&bucket(&s3, ""), &private()).await.err().unwrap();
    assert_eq!(no_secret.message, "`accessKeyId` needs its secret access key");
    let missing = Settings::S3 {
        bucket: "missing".to_owned(),
        prefix: String::new(),
        endpoint: s3.endpoint.clone(),
        region: String::new(),
        access_key_id: s3.access_key_id.clone(),
    };
    let mut missing = open_with(&missing, Some(&s3.secret_access_key), &private()).await.unwrap();
    assert!(missing.list().await.is_err());
    drop(s3);
}

#[tokio::test]
async fn a_private_endpoint_is_refused_unless_allowed() {
    let s3 = S3::start().await;
    let refused = connectors::check(&bucket(&s3, ""), &Environment::default()).unwrap_err();
    assert!(refused.message.starts_with("`endpoint` is refused: 127.0.0.1 is an address of"), "{refused}");
    let check = |bucket: &str, endpoint: &str| {
        let settings = Settings::S3 {
            bucket: bucket.to_owned(),
            prefix: String::new(),
            endpoint: endpoint.to_owned(),
            region: String::new(),
            access_key_id: String::new(),
        };
        connectors::check(&settings, &Environment::default()).map_err(|error| error.message)
    };
    assert_eq!(check("b", "http://s3.example.org"), Err("`endpoint` has to be an https address".to_owned()));
    assert_eq!(check("b", "https://s3.example.org"), Ok(()));
    assert_eq!(check("b", ""), Ok(()));
    assert!(check("", "").is_err() && check("a/b", "").is_err());
}

/// A bucket without a key, of a server that the test plays.
async fn played(site: &Site) -> Opened {
    let settings = Settings::S3 {
        bucket: "b".to_owned(),
        prefix: String::new(),
        endpoint: site.address.clone(),
        region: String::new(),
        access_key_id: String::new(),
    };
    open(&settings, &private()).await.unwrap()
}

const LIST: &str = "/b?list-type=2&max-keys=1000";

fn list(keys: &[&str], more: &str) -> String {
    let objects: String = keys
        .iter()
        .map(|key| {
            let about = "<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>1</ETag><Size>1</Size>";
            format!("<Contents><Key>{key}</Key>{about}</Contents>")
        })
        .collect();
    format!("<?xml version='1.0'?>\n<ListBucketResult>{objects}{more}</ListBucketResult>")
}

#[tokio::test]
async fn a_list_of_any_announced_length_fails_and_the_process_lives() {
    let site = Site::start().await;
    site.put(LIST, 200, "Content-Length: 9000000000000000000", "<ListBucketResult>");
    let failed = played(&site).await.list().await.unwrap_err();
    assert!(failed.message.starts_with("the bucket cannot be read"), "{failed}");
    site.put(LIST, 200, "", list(&[], &" ".repeat(17 << 20)));
    let failed = played(&site).await.list().await.unwrap_err();
    assert_eq!(failed.message, "the bucket cannot be read: the server sends too much");
    site.put(LIST, 200, "", list(&["a.txt"], ""));
    assert_eq!(played(&site).await.paths().await, ["a.txt"]);
}

#[tokio::test]
async fn one_odd_or_forbidden_object_does_not_cost_the_others() {
    let site = Site::start().await;
    site.put(LIST, 200, "", list(&["a.txt", "a//b.txt", "../c.txt", "frozen.txt"], ""));
    let headers = "ETag: 1\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT";
    site.put("/b/a.txt", 200, headers, "a");
    let refused = "<Error><Code>InvalidObjectState</Code><Message>It is archived</Message></Error>";
    site.put("/b/frozen.txt", 403, "", refused);
    let mut opened = played(&site).await;
    let items = opened.list().await.unwrap();
    assert_eq!(items.iter().map(|item| item.path.as_str()).collect::<Vec<_>>(), ["a.txt", "frozen.txt"]);
    let frozen = opened.read(&items[1], "").await;
    assert!(matches!(&frozen, Err(ItemError::Item(reason)) if reason.contains("archived")), "{frozen:?}");
    assert_eq!(opened.content(&items[0]).await.2, b"a");
}

#[tokio::test]
async fn a_list_without_end_fails() {
    let site = Site::start().await;
    let more = "<NextContinuationToken>t</NextContinuationToken>";
    site.put(LIST, 200, "", list(&[], more));
    site.put(&LIST.replace('?', "?continuation-token=t&"), 200, "", list(&[], more));
    let failed = played(&site).await.list().await.unwrap_err();
    assert!(failed.message.contains("more than 1000000 items"), "{failed}");
}
