//! Whose projects are: every endpoint of the OpenAPI document, asked by every kind of caller. A new endpoint without a row
//! here fails.

use e2e::postgres::Postgres;
use e2e::stoa::Start;
use e2e::supervisor_client::{SupervisorClient, workflow};
use e2e::{KnowledgeClient, Reply, Stoa, Vendor, reply};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What a caller needs for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Needs {
    /// Answers everybody who is let in at all, with what the caller sees.
    Nothing,
    Read,
    Execute,
    Manage,
}

fn needs(method: &str, path: &str) -> Needs {
    match (method, path) {
        ("GET" | "POST", "/api/projects") | ("GET", "/api/approvals" | "/api/workflow") => Needs::Nothing,
        ("GET", "/api/projects/{id}" | "/api/projects/{id}/runs" | "/api/projects/{id}/artifacts.zip") => {
            Needs::Read
        }
        ("GET", "/api/hydrate/{id}" | "/api/artifacts/{id}" | "/api/traces/{id}" | "/api/state/{id}") => {
            Needs::Read
        }
        ("GET", "/api/runs/{id}" | "/api/runs/{id}/events") => Needs::Read,
        ("GET" | "POST", "/api/execute") => Needs::Execute,
        ("POST", "/api/artifacts/{id}" | "/api/interrupt" | "/api/resume" | "/api/cancel") => Needs::Manage,
        ("PATCH" | "DELETE", "/api/projects/{id}") => Needs::Manage,
        _ => panic!("{method} {path} is new: say here what a caller needs for it"),
    }
}

/// Returns method, path and need of every operation; what ends a project comes last.
fn operations() -> Vec<(String, String, Needs)> {
    let document = e2e::schema::document("supervisor");
    let mut found = Vec::new();
    let is_public = |path: &str| ["/livez", "/readyz", "/openapi.json", "/docs"].contains(&path);
    for (path, methods) in document["paths"].as_object().unwrap().iter().filter(|(path, _)| !is_public(path))
    {
        let methods = methods.as_object().unwrap().keys().map(|method| method.to_uppercase());
        for method in methods.filter(|method| ["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&&**method))
        {
            let need = needs(&method, path);
            found.push((method, path.clone(), need));
        }
    }
    found.sort_by_key(|(method, path, need)| (*need, method == "DELETE", path == "/api/cancel"));
    found
}

/// A project with a run that waits for approval.
struct Target {
    project: String,
    run: String,
    artifact: String,
}

impl Target {
    async fn of(owner: &SupervisorClient, space: Option<&str>) -> Self {
        let body = json!({ "name": "Bees", "product_seed": "A diary of each hive.", "space_id": space });
        let made = owner.post("/api/projects", &body).await;
        assert_eq!(made.status, 201, "{made:?}");
        let project = made.json()["id"].as_str().unwrap().to_owned();
        owner.execute(&project, "prd").await.until("interrupt").await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let run = text(&owner.list(&format!("/api/projects/{project}/runs")).await[0]["id"]);
        let artifact = text(&owner.list(&format!("/api/artifacts/{project}")).await[0]["id"]);
        Self { project, run, artifact }
    }

    async fn ask(&self, caller: &SupervisorClient, method: &str, path: &str) -> Reply {
        let id = if path.starts_with("/api/runs/") { &self.run } else { &self.project };
        let mut address = path.replace("{id}", id);
        let body = match path {
            "/api/projects" => json!({ "name": "Mine", "product_seed": "Another diary." }),
            "/api/projects/{id}" => json!({ "name": "Taken" }),
            "/api/artifacts/{id}" => json!({ "artifactId": self.artifact, "content": "Taken." }),
            "/api/resume" => json!({ "projectId": id, "decision": "edit", "content": "Forged." }),
            _ => json!({ "projectId": id, "phase": "prd" }),
        };
        if path == "/api/execute" && method == "GET" {
            address.push_str(&format!("?projectId={id}&phase=prd"));
        }
        let request = caller.request(Method::from_bytes(method.as_bytes()).unwrap(), &address);
        let request = request.header("prefer", "respond-async");
        match method {
            // The run waits, so its events do not end.
            "GET" if path.ends_with("/events") => {
                let answer = request.send().await.unwrap();
                Reply {
                    status: answer.status().as_u16(),
                    ..reply(caller.request(Method::GET, "/api/workflow")).await
                }
            }
            "GET" => reply(request).await,
            _ => reply(request.json(&body)).await,
        }
    }
}

/// Asks for everything that can be asked of a project, and checks that the caller may do this and no more: none if it may
/// not see the project.
async fn check(who: &str, caller: &SupervisorClient, target: &Target, may: Option<Needs>) {
    for (method, path, need) in operations() {
        let answer = target.ask(caller, &method, &path).await;
        let (status, shown) = (answer.status, answer.body.contains(&target.project));
        let what = format!("{who}: {method} {path} is {status} {}", answer.body);
        match may {
            _ if need == Needs::Nothing => {
                assert!(status < 300, "{what}");
                let lists = method == "GET" && path != "/api/workflow";
                assert_eq!(shown, lists && may.is_some(), "{what}");
            }
            None => assert!(status == 404 && !answer.body.contains("Bees"), "{what}"),
            Some(may) if need <= may => assert!(status < 300 || status == 409, "{what}"),
            Some(_) => assert_eq!(status, 403, "{what}"),
        }
    }
}

async fn grant(stoa: &Stoa, user: &KnowledgeClient) -> SupervisorClient {
    let answer = user.post("/api/auth/token").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    SupervisorClient::with_token(stoa, answer.json()["token"].as_str().unwrap().to_owned())
}

async fn space_with(admin: &KnowledgeClient, members: &[(&KnowledgeClient, &str)]) -> String {
    let made = admin.post_json("/api/spaces", &json!({ "name": "Hives" })).await.json();
    let id = made["space"]["id"].as_str().unwrap().to_owned();
    for (member, role) in members {
        let body = json!({ "user": member.id, "role": role });
        let answer = admin.post_json(&format!("/api/spaces/{id}/members"), &body).await;
        assert!(answer.status < 300, "{answer:?}");
    }
    id
}

async fn start(vendor: &Vendor) -> Start {
    let agents: &[&str] = &["name = \"analyst\"\napproval = true"];
    Stoa::start_supervisor(vendor, &workflow(&[("prd", agents)])).only("gateway,knowledge,supervisor")
}

async fn check_matrix(start: Start) {
    let stoa = start.serve();
    let chief = KnowledgeClient::admin(&stoa).await;
    let invite = async |name: &str| chief.invite(&stoa, name).await;
    let (ada, eve) = (invite("ada").await, invite("eve").await);
    let (ruth, ed) = (invite("ruth").await, invite("ed").await);
    let space = space_with(&chief, &[(&ada, "editor"), (&ruth, "reader"), (&ed, "editor")]).await;
    let owner = grant(&stoa, &ada).await;
    let guest = SupervisorClient::through_gateway(&stoa, "guest");
    let (admin, local) = (SupervisorClient::through_gateway(&stoa, "admin"), SupervisorClient::local(&stoa));
    let (other, reader, editor) =
        (grant(&stoa, &eve).await, grant(&stoa, &ruth).await, grant(&stoa, &ed).await);
    let (none, all) = (None, Some(Needs::Manage));
    for (who, caller, may) in [
        ("a guest", &guest, none),
        ("another user", &other, none),
        ("a reader of the space", &reader, Some(Needs::Read)),
        ("an editor of the space", &editor, all),
        ("the owner", &owner, all),
        ("an administrator", &admin, all),
        ("a program on this machine", &local, all),
    ] {
        check(who, caller, &Target::of(&owner, Some(&space)).await, may).await;
        // Without the space, what its members may do ends.
        let may = if ["a reader of the space", "an editor of the space"].contains(&who) { none } else { may };
        check(who, caller, &Target::of(&owner, None).await, may).await;
        let is_admin = [&admin, &local].iter().any(|one| std::ptr::eq(*one, caller));
        let may = if is_admin { all } else { none };
        check(who, caller, &Target::of(&local, None).await, may).await;
        let may = if std::ptr::eq(caller, &guest) { Some(Needs::Execute) } else { may };
        check(who, caller, &Target::of(&guest, None).await, may).await;
    }
    check_disabled(&chief, &ed, &editor, &Target::of(&owner, Some(&space)).await).await;
}

/// A disabled user is refused within seconds, with the token from before.
async fn check_disabled(
    chief: &KnowledgeClient,
    user: &KnowledgeClient,
    client: &SupervisorClient,
    target: &Target,
) {
    let path = format!("/api/users/{}", user.id);
    let disabled = reply(chief.request(Method::PATCH, &path).json(&json!({ "disabled": true }))).await;
    assert_eq!(disabled.status, 200, "{disabled:?}");
    let deadline = Instant::now() + Duration::from_secs(10);
    while client.get("/api/projects").await.status != 403 {
        assert!(Instant::now() < deadline, "a disabled user is still let in");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for (method, path, _) in operations() {
        let answer = target.ask(client, &method, &path).await;
        // The test's own request stands for a stream, which is not read.
        assert_eq!(answer.status, 403, "{method} {path}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_caller_sees_and_does_what_is_its_own_and_no_more() {
    let vendor = Vendor::start("One word after the other.").await;
    check_matrix(start(&vendor).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_caller_sees_and_does_what_is_its_own_and_no_more_on_postgresql() {
    let vendor = Vendor::start("One word after the other.").await;
    let database = Postgres::shared().await.database().await;
    check_matrix(start(&vendor).await.set("DATABASE_URL", &database)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_put_into_a_space_by_an_editor_of_it_and_says_whose_it_is() {
    let vendor = Vendor::start("One word after the other.").await;
    let stoa = start(&vendor).await.serve();
    let chief = KnowledgeClient::admin(&stoa).await;
    let (ada, ruth) = (chief.invite(&stoa, "ada").await, chief.invite(&stoa, "ruth").await);
    let space = space_with(&chief, &[(&ada, "editor"), (&ruth, "reader")]).await;
    let closed = space_with(&chief, &[]).await;
    let (owner, reader) = (grant(&stoa, &ada).await, grant(&stoa, &ruth).await);
    let id = owner.project().await;
    let path = format!("/api/projects/{id}");
    let shown = owner.get(&path).await.json();
    let user = json!({ "kind": "user", "id": ada.id, "name": "ada@example.org" });
    assert_eq!(
        [&shown["owner"], &shown["space_id"], &shown["access"]],
        [&user, &Value::Null, &json!("manage")]
    );
    let put = async |client: &SupervisorClient, path: &str, space: Value| {
        client.patch(path, &json!({ "space_id": space })).await
    };
    assert_eq!(put(&owner, &path, json!(closed)).await.status, 404, "a space that is not hers");
    assert_eq!(put(&owner, &path, json!("nothing")).await.status, 404);
    assert_eq!(put(&owner, &path, json!(space)).await.json()["space_id"], space);
    let seen = reader.get(&path).await.json();
    assert_eq!([&seen["owner"], &seen["access"]], [&user, &json!("read")]);
    assert_eq!(put(&reader, &path, Value::Null).await.status, 403);
    let own = reader.project().await;
    assert_eq!(
        put(&reader, &format!("/api/projects/{own}"), json!(space)).await.status,
        403,
        "she only reads there"
    );
    let created = json!({ "name": "Mine", "product_seed": "x", "space_id": space });
    assert_eq!(reader.post("/api/projects", &created).await.status, 403);
    assert_eq!(
        owner.patch(&path, &json!({ "name": "Hives" })).await.json()["space_id"],
        space,
        "it stays there"
    );
    assert_eq!(put(&owner, &path, Value::Null).await.json()["space_id"], Value::Null);
    assert_eq!(reader.get(&path).await.status, 404);
    let target = Target::of(&owner, Some(&space)).await;
    let waits = async |client: &SupervisorClient| {
        let waiting = client.get("/api/approvals").await.json();
        assert_eq!(waiting["approvals"][0]["projectId"], target.project);
        (waiting["total"].clone(), waiting["decidable"].clone(), waiting["approvals"][0]["mayDecide"].clone())
    };
    assert_eq!(waits(&owner).await, (json!(1), json!(1), json!(true)));
    assert_eq!(waits(&reader).await, (json!(1), json!(0), json!(false)), "she reads it");
    // Guests have no spaces, and an administrator puts none of their projects into one.
    let guest = SupervisorClient::through_gateway(&stoa, "guest");
    assert_eq!(guest.post("/api/projects", &created).await.status, 403);
    let admin = SupervisorClient::through_gateway(&stoa, "admin");
    let of_guests = guest.project().await;
    assert_eq!(put(&admin, &format!("/api/projects/{of_guests}"), json!(space)).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_caller_is_taken_out_of_the_space() {
    let vendor = Vendor::start("One word after the other.").await;
    let stoa = start(&vendor).await.serve();
    let chief = KnowledgeClient::admin(&stoa).await;
    let (ada, ruth) = (chief.invite(&stoa, "ada").await, chief.invite(&stoa, "ruth").await);
    let space = space_with(&chief, &[(&ada, "editor"), (&ruth, "reader")]).await;
    let target = Target::of(&grant(&stoa, &ada).await, Some(&space)).await;
    let request = grant(&stoa, &ruth).await.request(Method::GET, &format!("/api/runs/{}/events", target.run));
    let mut watch = e2e::Watch::open(request).await;
    watch.until("interrupt").await;
    let left = chief.delete(&format!("/api/spaces/{space}/members/{}", ruth.id)).await;
    assert_eq!(left.status, 200, "{left:?}");
    assert!(tokio::time::timeout(Duration::from_secs(20), watch.rest()).await.is_ok(), "the stream goes on");
}
