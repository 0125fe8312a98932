//! Which callers the supervisor accepts.

use e2e::supervisor_client::{SupervisorClient, workflow};
use e2e::tokens::{claims, now, sign_as, token};
use e2e::{Stoa, Vendor, Watch, reply};
use reqwest::Method;
use serde_json::json;
use std::time::Duration;

async fn start() -> (Vendor, Stoa) {
    let vendor = Vendor::start("One word after the other.").await;
    let start = Stoa::start_supervisor(&vendor, &workflow(&[("prd", &["name = \"analyst\""])]));
    let stoa = start.set("SUPERVISOR_TOKEN", "a token for machines").serve();
    (vendor, stoa)
}

fn identity(scope: &str) -> String {
    let mut claims = claims("BUILD", scope);
    claims["exp"] = (now() + 60).into();
    let header = serde_json::json!({ "typ": "gateway-identity+jwt", "alg": "HS256" });
    sign_as(&header, &claims, e2e::stoa::JWT_SECRET, jsonwebtoken::Algorithm::HS256)
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_on_this_machine_are_accepted_and_web_pages_are_not() {
    let (_vendor, stoa) = start().await;
    let client = SupervisorClient::local(&stoa);
    let status = async |headers: &[(&str, &str)]| {
        let request = client.request(Method::GET, "/api/projects");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        reply(request).await.status
    };
    let own = format!("http://{}", stoa.supervisor.unwrap());
    assert_eq!(status(&[]).await, 200);
    assert_eq!(status(&[("origin", &own)]).await, 200);
    assert_eq!(status(&[("host", "localhost:8082")]).await, 200);
    assert_eq!(status(&[("origin", "https://evil.example")]).await, 403);
    assert_eq!(status(&[("origin", "null")]).await, 403);
    assert_eq!(status(&[("host", "evil.example")]).await, 403, "a host name that resolves to this machine");
    assert_eq!(status(&[("host", "evil.example"), ("origin", "http://evil.example")]).await, 403);
    assert_eq!(status(&[("sec-fetch-site", "same-origin")]).await, 200);
    assert_eq!(
        status(&[("sec-fetch-site", "cross-site")]).await,
        403,
        "an image on another page is requested without an origin"
    );
    // A proxy on this machine names the client that it forwards for.
    for client in ["203.0.113.7", "203.0.113.7:5555", "unknown", "127.0.0.1, x"] {
        assert_eq!(status(&[("x-forwarded-for", client)]).await, 401, "{client}");
    }
    let forged = [("origin", "http://evil.example"), ("x-forwarded-host", "evil.example")];
    assert_eq!(status(&forged).await, 403);
    assert_eq!(
        status(&[("x-forwarded-for", "203.0.113.7"), ("authorization", "Bearer a token for machines")]).await,
        200
    );
    assert_eq!(status(&[("authorization", "Bearer another token")]).await, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_needs_the_gateways_signature() {
    let (_vendor, stoa) = start().await;
    let client = SupervisorClient::local(&stoa);
    let status = async |method: Method, path: &str, identity: &str| {
        reply(client.request(method, path).header("x-gateway-identity", identity)).await.status
    };
    let project = format!("/api/projects/{}", client.project().await);
    assert_eq!(status(Method::GET, "/api/projects", &identity("guest")).await, 200);
    assert_eq!(status(Method::DELETE, &project, &identity("guest")).await, 404);
    assert_eq!(status(Method::GET, &project, &token("BUILD", "admin")).await, 403, "a token is no identity");
    assert_eq!(status(Method::GET, &project, "nonsense").await, 403);
    assert_eq!(status(Method::DELETE, &project, &identity("admin")).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_from_this_machine_are_verified_and_give_no_more_rights() {
    let vendor = Vendor::start("One word after the other.").await;
    let workflow = workflow(&[("prd", &["name = \"analyst\""])]);
    for token_of_settings in ["", "a token for machines"] {
        let start = Stoa::start_supervisor(&vendor, &workflow);
        let stoa = start.set("SUPERVISOR_TOKEN", token_of_settings).serve();
        let client = SupervisorClient::local(&stoa);
        let status = async |method: Method, path: &str, (name, value): (&str, &str)| {
            reply(client.request(method, path).header(name, value)).await.status
        };
        let project = format!("/api/projects/{}", client.project().await);
        let bearer = |token: String| format!("Bearer {token}");
        let mut expired = claims("BUILD", "admin");
        expired["exp"] = (now() - 60).into();
        let header = serde_json::json!({ "typ": "JWT", "alg": "HS256" });
        let hs256 = jsonwebtoken::Algorithm::HS256;
        let forged =
            sign_as(&header, &claims("BUILD", "admin"), "another secret, as long as the right one", hs256);
        for credential in [
            ("authorization", "Bearer nonsense".to_owned()),
            ("authorization", "Bearer ".to_owned()),
            ("authorization", format!("Basic {}", token("BUILD", "admin"))),
            ("authorization", bearer(forged)),
            ("authorization", bearer(sign_as(&header, &expired, e2e::stoa::JWT_SECRET, hs256))),
            ("authorization", bearer(identity("admin"))),
            ("authorization", bearer(token("KV", "admin"))),
            ("authorization", bearer(token("BUILD", "other"))),
            ("x-gateway-identity", String::new()),
            ("cookie", "a=b; service_session=0123456789abcdef".to_owned()),
            ("cookie", "portal_session=0123456789abcdef".to_owned()),
            ("x-api-key", "0123456789abcdef".to_owned()),
        ] {
            let credential = (credential.0, credential.1.as_str());
            assert_eq!(status(Method::GET, &project, credential).await, 403, "{credential:?}");
        }
        let guest = bearer(token("BUILD", "guest"));
        assert_eq!(status(Method::GET, "/api/projects", ("authorization", &guest)).await, 200);
        assert_eq!(status(Method::DELETE, &project, ("authorization", &guest)).await, 404);
        // Any other cookie is not a credential.
        assert_eq!(status(Method::GET, &project, ("cookie", "theme=dark")).await, 200);
        let admin = bearer(token("AUTH", "admin"));
        assert_eq!(status(Method::DELETE, &project, ("authorization", &admin)).await, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn through_the_gateway_every_caller_needs_a_token_and_guests_may_not_stop_runs() {
    let (_vendor, stoa) = start().await;
    let anonymous = reply(reqwest::Client::new().get(stoa.url("/build/api/projects"))).await;
    assert_eq!(anonymous.error(), (401, "MISSING_TOKEN".into(), "BUILD".into()));
    let guest = SupervisorClient::through_gateway(&stoa, "guest");
    let id = guest.project().await;
    assert_eq!(guest.run(&id, "prd").await.last().unwrap().name, "phase_complete");
    assert_eq!(guest.get(&format!("/api/hydrate/{id}")).await.status, 200);
    assert_eq!(guest.delete(&format!("/api/projects/{id}")).await.status, 403);
    let forged = guest
        .request(Method::DELETE, &format!("/api/projects/{id}"))
        .header("x-gateway-identity", identity("admin"));
    assert_eq!(reply(forged).await.status, 403, "what a client sends as identity is dropped");
    assert_eq!(
        SupervisorClient::through_gateway(&stoa, "admin").delete(&format!("/api/projects/{id}")).await.status,
        200
    );
}

/// Starts the program with an agent whose step never ends.
async fn start_hanging(ttl: &str) -> (Vendor, Stoa) {
    let vendor = Vendor::start("One word after the other.").await;
    let workflow = workflow(&[("prd", &["name = \"analyst\"\nmodel = \"hang\""])]);
    let stoa = Stoa::start_supervisor(&vendor, &workflow).set("JWT_TTL", ttl).serve();
    (vendor, stoa)
}

async fn ends_soon(watch: Watch, why: &str) {
    let rest = tokio::time::timeout(Duration::from_secs(14), watch.rest()).await;
    assert!(rest.is_ok(), "the stream goes on after {why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_token_expires_and_the_run_continues() {
    let (_vendor, stoa) = start_hanging("4s").await;
    let guest = reply(reqwest::Client::new().post(stoa.url("/auth/guest"))).await.json();
    let client = SupervisorClient::with_token(&stoa, guest["token"].as_str().unwrap().to_owned());
    let id = client.project().await;
    let mut watch = client.execute(&id, "prd").await;
    watch.until("agent_start").await;
    ends_soon(watch, "the token's expiry").await;
    let project = SupervisorClient::local(&stoa).get(&format!("/api/projects/{id}")).await.json();
    assert_eq!(project["status"], "running");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_administrator_is_removed() {
    let (_vendor, stoa) = start_hanging("1h").await;
    let body = json!({ "username": "admin", "password": "password" });
    let signed_in = reply(reqwest::Client::new().post(stoa.url("/auth/login")).json(&body)).await.json();
    let client = SupervisorClient::with_token(&stoa, signed_in["token"].as_str().unwrap().to_owned());
    let id = client.project().await;
    let mut watch = client.execute(&id, "prd").await;
    watch.until("agent_start").await;
    let local = SupervisorClient::local(&stoa).execute(&id, "prd").await;
    // The record in the object store decides, whichever program changes it.
    std::fs::remove_file(stoa.data.path().join("objects/auth/admins/admin.json")).unwrap();
    ends_soon(watch, "the administrator's removal").await;
    let mut local = local;
    local.until("agent_start").await;
    assert!(
        tokio::time::timeout(Duration::from_secs(3), local.next()).await.is_err(),
        "no other stream ends"
    );
}
