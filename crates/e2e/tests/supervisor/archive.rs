//! The artifacts of a project as a zip.

use e2e::supervisor_client::{SupervisorClient, workflow};
use e2e::{Stoa, Vendor, reply};
use reqwest::Method;
use serde_json::json;
use std::io::{Cursor, Read};
use zip::ZipArchive;

const PHASES: &[(&str, &[&str])] = &[
    ("prd", &["name = \"analyst\"\napproval = true", "name = \"writer\"\ninputs = [\"analyst\"]"]),
    ("build", &["name = \"developer\"\ninputs = [\"writer\"]\noutput = \"code\""]),
];

/// Returns the names and contents of the files, in their order.
async fn files(client: &SupervisorClient, path: &str) -> Vec<(String, String)> {
    let response = client.request(Method::GET, path).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/zip");
    assert_eq!(response.headers()["content-disposition"], "attachment; filename=\"Bees.zip\"");
    let bytes = response.bytes().await.unwrap();
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut files = Vec::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        files.push((file.name().unwrap().into_owned(), text));
    }
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_are_files_of_their_newest_or_of_all_versions() {
    let vendor = Vendor::start("One word after the other.").await;
    let stoa = Stoa::start_supervisor(&vendor, &workflow(PHASES)).serve();
    let client = SupervisorClient::through_gateway(&stoa, "admin");
    let id = client.project().await;
    let path = format!("/api/projects/{id}/artifacts.zip");
    assert_eq!(files(&client, &path).await, [], "nothing was written yet");
    let mut watch = client.execute(&id, "prd").await;
    watch.until("interrupt").await;
    let edit = json!({ "projectId": id, "decision": "edit", "content": "Von Hand: 🐝." });
    assert_eq!(client.post("/api/resume", &edit).await.status, 200);
    watch.rest().await;
    client.run(&id, "build").await;
    let said = "One word after the other.";
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        files(&client, &path).await,
        [
            file("prd/01-analyst.md", "Von Hand: 🐝."),
            file("prd/02-writer.md", said),
            file("build/01-developer.txt", said)
        ]
    );
    assert_eq!(
        files(&client, &format!("{path}?versions=all")).await,
        [
            file("prd/01-analyst.v1.md", said),
            file("prd/01-analyst.v2.md", "Von Hand: 🐝."),
            file("prd/02-writer.v1.md", said),
            file("build/01-developer.v1.txt", said)
        ]
    );
    assert_eq!(client.get("/api/projects/none/artifacts.zip").await.status, 404);
    assert_eq!(client.get(&format!("{path}?versions=some")).await.status, 400);
    let head = reply(client.request(Method::HEAD, &path)).await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}
