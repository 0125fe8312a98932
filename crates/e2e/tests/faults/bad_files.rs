//! Damaged files of every kind, uploaded through the front door: each ends as indexed or with an error, and the process
//! lives.

use e2e::{Form, KnowledgeClient, Stoa};
use futures_util::{StreamExt, stream};
use reqwest::Method;
use std::time::Duration;

#[path = "../../../extract/tests/files/samples.rs"]
#[allow(dead_code, reason = "made for the readers of files")]
mod samples;

/// Kinds that are containers, or read by large parsers.
const KINDS: [&str; 12] = [
    "a.pdf", "a.docx", "a.pptx", "a.xlsx", "a.odt", "a.ods", "a.odp", "a.rtf", "a.epub", "a.eml", "a.ipynb",
    "a.html",
];
const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn every_damaged_file_is_indexed_or_refused_and_the_process_lives() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let of_each = 1 + 5 * crate::kills() / KINDS.len();
    let mut files = Vec::new();
    for (name, original) in samples::all().into_iter().filter(|(name, _)| KINDS.contains(name)) {
        mutations::mutations(&original, of_each as u64, |bytes| files.push((name, bytes)));
    }
    let total = files.len();
    let upload = |(name, bytes): (&'static str, Vec<u8>)| {
        let form = Form::new().text("duplicates", "keep").file("file", name, &bytes);
        let request = form.into_request(admin.request(Method::POST, "/api/ingest"));
        async move {
            let response = request.timeout(Duration::from_secs(60)).send().await.expect("an answer in time");
            (name, response.status().as_u16(), response.text().await.expect("the whole answer"))
        }
    };
    let answers: Vec<_> = stream::iter(files).map(upload).buffer_unordered(AT_ONCE).collect().await;
    for (name, status, body) in &answers {
        assert!(matches!(status, 200 | 400 | 413 | 415 | 422), "{name}: {status} {body}");
    }
    let indexed = answers.iter().filter(|(_, status, _)| *status == 200).count();
    println!("{total} damaged files: {indexed} indexed, {} refused", total - indexed);
    assert!(admin.settled(Duration::from_secs(60)).await.iter().all(|one| one["status"] != "processing"));
    // And it works as before.
    let id = admin.ingest_text("whole.txt", "The word of this file is wholeword.").await;
    assert_eq!(admin.find("wholeword").await.first(), Some(&id));
}
