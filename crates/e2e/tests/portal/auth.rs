//! Who may read and who may write.

use e2e::tokens::{claims, sign, token};
use e2e::{PortalClient, Stoa, Upstream, reply};
use reqwest::Method;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn everything_but_the_status_needs_a_token_and_writing_needs_an_administrator() {
    let stoa = Stoa::start_portal().serve();
    let (stranger, guest, admin) = (
        PortalClient::stranger(&stoa),
        PortalClient::through_gateway(&stoa, "guest"),
        PortalClient::through_gateway(&stoa, "admin"),
    );
    for path in ["updates", "goals", "tools", "tasks", "pages", "org-matrix", "search?q=x"] {
        let path = format!("/api/portal/{path}");
        let refused = stranger.get(&path).await;
        assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("UNAUTHORIZED")), "{path}");
        assert_eq!((guest.get(&path).await.status, admin.get(&path).await.status), (200, 200), "{path}");
    }
    assert_eq!(stranger.get("/api/portal/status").await.status, 200);
    let body = json!({ "title": "A" });
    assert_eq!(stranger.post("/api/portal/updates", &body).await.status, 401);
    assert_eq!(guest.post("/api/portal/updates", &body).await.status, 403);
    let id = admin.make("/api/portal/updates", &body).await["id"].as_str().unwrap().to_owned();
    let one = format!("/api/portal/updates/{id}");
    assert_eq!((guest.patch(&one, &body).await.status, guest.delete(&one).await.status), (403, 403));
    let wrong = admin.request(Method::PUT, &one);
    let wrong = reply(wrong).await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, vec!["GET,HEAD,PATCH,DELETE"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_without_the_gateway_are_verified_with_the_portals_own_secret() {
    let secret = "another secret that is long enough for the portal";
    let own = Stoa::start_portal().set("PORTAL_JWT_SECRET", secret).serve();
    let url = format!("http://{}/api/portal/updates", own.portal.unwrap());
    let status = async |token: &str| reply(reqwest::Client::new().get(&url).bearer_auth(token)).await.status;
    let header = json!({ "typ": "JWT", "alg": "HS256" });
    let good = e2e::tokens::sign_as(&header, &claims("KV", "guest"), secret, jsonwebtoken::Algorithm::HS256);
    assert_eq!(status(&good).await, 200);
    assert_eq!(status(&token("KV", "admin")).await, 403, "signed with the gateway's secret");
    // Through the gateway, its identity counts.
    assert_eq!(PortalClient::through_gateway(&own, "guest").get("/api/portal/updates").await.status, 200);

    let shared = Stoa::start_portal().serve();
    let url = format!("http://{}/api/portal/updates", shared.portal.unwrap());
    let status = async |token: &str| reply(reqwest::Client::new().get(&url).bearer_auth(token)).await.status;
    assert_eq!(status(&token("KV", "guest")).await, 200);
    assert_eq!(status(&token("AUTH", "admin")).await, 200);
    assert_eq!(status(&token("BUILD", "guest")).await, 403);
    assert_eq!(status("nonsense").await, 403);
    let mut expired = claims("KV", "guest");
    expired["exp"] = 1.into();
    assert_eq!(status(&sign(&expired)).await, 403);
    assert_eq!(
        status(&sign(&{
            let mut none = claims("KV", "guest");
            none["scopes"] = json!([]);
            none
        }))
        .await,
        403
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn leads_are_handed_on_as_they_come() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start_portal().set("LEADS_SERVICE_URL", upstream.url()).serve();
    let request = PortalClient::stranger(&stoa).request(Method::POST, "/api/leads/contact?x=1");
    let request =
        request.header("content-type", "application/x-www-form-urlencoded").body("email=a%40example.org");
    let echoed = reply(request).await.echoed();
    assert_eq!(
        (echoed.method(), echoed.uri(), echoed.body()),
        ("POST", "/api/leads/contact?x=1", "email=a%40example.org")
    );
    assert_eq!(echoed.header("content-type"), ["application/x-www-form-urlencoded"]);
    assert!(echoed.header("x-gateway-identity").is_empty());
    let echoed =
        reply(PortalClient::through_gateway(&stoa, "admin").request(Method::GET, "/api/leads?status=dead"))
            .await
            .echoed();
    assert_eq!((echoed.uri(), echoed.header("x-gateway-identity").len()), ("/api/leads?status=dead", 1));
    for path in ["/api/leads/x%2f..%2fy", "/api/leads/%5Cx"] {
        let url = format!("http://{}{path}", stoa.portal.unwrap());
        assert_eq!(reply(reqwest::Client::new().get(url)).await.status, 400, "{path}");
    }
    let list = format!("http://127.0.0.1:1,{}", upstream.url());
    let second = Stoa::start_portal().set("LEADS_SERVICE_URL", list).serve();
    let echoed =
        reply(PortalClient::stranger(&second).request(Method::POST, "/api/leads").body("{}")).await.echoed();
    assert_eq!((echoed.method(), echoed.body()), ("POST", "{}"), "the next one where the first is away");
    let away = Stoa::start_portal().set("LEADS_SERVICE_URL", "http://127.0.0.1:1").serve();
    let answer = PortalClient::stranger(&away).get("/api/leads").await;
    assert_eq!((answer.status, &answer.json()["code"]), (502, &json!("UPSTREAM_UNAVAILABLE")));
    // The leads service of the same process is found by itself.
    let whole = Stoa::start().only("gateway,portal,leads").serve();
    let lead = json!({ "email": "ada@example.org", "message": "Call me." });
    let taken = PortalClient::stranger(&whole).post("/api/leads", &lead).await;
    assert_eq!((taken.status, &taken.json()["status"]), (202, &json!("queued")), "{taken:?}");
    let leads = PortalClient::through_gateway(&whole, "admin").list("/api/leads").await;
    assert_eq!((leads.len(), &leads[0]["id"]), (1, &taken.json()["leadId"]));
    assert_eq!(PortalClient::through_gateway(&whole, "guest").get("/api/leads").await.status, 403);
    let nowhere = Stoa::start_portal().serve();
    assert_eq!(PortalClient::stranger(&nowhere).get("/api/leads").await.status, 404);
}
