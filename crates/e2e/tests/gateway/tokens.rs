//! Bearer tokens: the forgeries, and the few that are taken.

use e2e::stoa::JWT_SECRET;
use e2e::tokens::{base64url, claims, now, sign, sign_as, token, unsigned};
use e2e::{Reply, Stoa, Upstream, reply};
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

async fn start() -> (Upstream, Stoa) {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).serve();
    (upstream, stoa)
}

async fn call(stoa: &Stoa, path: &str, authorization: &str) -> Reply {
    let value = reqwest::header::HeaderValue::from_bytes(authorization.as_bytes()).unwrap();
    reply(reqwest::Client::new().get(stoa.url(path)).header("authorization", value)).await
}

async fn bearer(stoa: &Stoa, path: &str, token: &str) -> Reply {
    call(stoa, path, &format!("Bearer {token}")).await
}

/// On all three routes: a token is verified wherever one is sent.
async fn assert_invalid(stoa: &Stoa, token: &str, what: &str) {
    for (path, route) in [("/build/x", "BUILD"), ("/kv/x", "KV"), ("/core/x", "CORE")] {
        let answer = bearer(stoa, path, token).await;
        assert_eq!(answer.error(), (403, "INVALID_TOKEN".into(), route.into()), "{what} on {path}");
    }
}

fn good() -> Value {
    claims("AUTH", "admin")
}

fn hs256() -> Value {
    json!({ "typ": "JWT", "alg": "HS256" })
}

#[tokio::test]
async fn a_token_without_a_signature_of_ours_is_invalid() {
    let (upstream, stoa) = start().await;
    for alg in ["none", "None", "NONE", "nOnE", ""] {
        let message = unsigned(&json!({ "typ": "JWT", "alg": alg }), &good());
        let signature = sign(&good()).rsplit('.').next().unwrap().to_owned();
        assert_invalid(&stoa, &format!("{message}."), alg).await;
        assert_invalid(&stoa, &message, alg).await;
        assert_invalid(&stoa, &format!("{message}.{signature}"), alg).await;
    }
    let signed = sign(&good());
    let (message, signature) = signed.rsplit_once('.').unwrap();
    assert_invalid(&stoa, &format!("{message}."), "stripped signature").await;
    assert_invalid(&stoa, message, "no third part").await;
    assert_invalid(&stoa, &format!("{signed}.{signature}"), "four parts").await;
    assert_invalid(&stoa, &format!("{message}.{}", &signature[1..]), "short signature").await;
    assert_invalid(&stoa, &format!("{message}.{}", signature.to_lowercase()), "changed signature").await;
    assert_invalid(&stoa, &format!("{message}.{signature}="), "padded signature").await;
    let other = unsigned(&hs256(), &claims("AUTH", "guest"));
    assert_invalid(&stoa, &format!("{other}.{signature}"), "another's signature").await;
    let wrong_key = "another secret that is long enough as well";
    assert_invalid(&stoa, &sign_as(&hs256(), &good(), wrong_key, Algorithm::HS256), "wrong key").await;
    assert_invalid(&stoa, &sign_as(&hs256(), &good(), "", Algorithm::HS256), "empty key").await;
    assert_eq!(upstream.requests(), 0, "none reached the target");
    assert_eq!(bearer(&stoa, "/build/x", &signed).await.status, 200);
}

#[tokio::test]
async fn only_hs256_is_taken() {
    let (_upstream, stoa) = start().await;
    for (name, algorithm) in [("HS384", Algorithm::HS384), ("HS512", Algorithm::HS512)] {
        let header = json!({ "typ": "JWT", "alg": name });
        assert_invalid(&stoa, &sign_as(&header, &good(), JWT_SECRET, algorithm), name).await;
    }
    for name in ["RS256", "ES256", "PS256", "EdDSA", "hs256", "HS1", "dir"] {
        let header = json!({ "typ": "JWT", "alg": name });
        assert_invalid(&stoa, &sign_as(&header, &good(), JWT_SECRET, Algorithm::HS256), name).await;
    }
    for header in [json!({ "typ": "JWT" }), json!([]), json!("HS256"), json!({ "alg": ["HS256"] })] {
        let forged = sign_as(&header, &good(), JWT_SECRET, Algorithm::HS256);
        assert_invalid(&stoa, &forged, &header.to_string()).await;
    }
}

#[tokio::test]
async fn keys_inside_a_token_are_ignored_and_critical_extensions_refused() {
    let (_upstream, stoa) = start().await;
    let attacker = "the attacker's own secret, long enough";
    let jwk = json!({ "kty": "oct", "alg": "HS256", "k": base64url(attacker.as_bytes()) });
    for (name, value) in [
        ("jwk", jwk),
        ("jku", json!("http://127.0.0.1:1/keys")),
        ("x5u", json!("http://127.0.0.1:1/key")),
        ("kid", json!("../../../dev/null")),
    ] {
        let mut header = hs256();
        header[name] = value;
        let forged = sign_as(&header, &good(), attacker, Algorithm::HS256);
        assert_invalid(&stoa, &forged, name).await;
        let ours = sign_as(&header, &good(), JWT_SECRET, Algorithm::HS256);
        assert_eq!(bearer(&stoa, "/build/x", &ours).await.status, 200, "{name} under our key");
    }
    for crit in [json!(["exp"]), json!(["b64"]), json!([]), json!("exp")] {
        let mut header = hs256();
        header["crit"] = crit.clone();
        let refused = sign_as(&header, &good(), JWT_SECRET, Algorithm::HS256);
        assert_invalid(&stoa, &refused, &crit.to_string()).await;
    }
}

#[tokio::test]
async fn times_are_checked_with_five_seconds_of_leeway() {
    let (_upstream, stoa) = start().await;
    let with = |name: &str, value: i64| {
        let mut claims = good();
        claims[name] = json!(value);
        sign(&claims)
    };
    assert_invalid(&stoa, &with("exp", now() - 6), "expired").await;
    assert_invalid(&stoa, &with("exp", 0), "expired long ago").await;
    assert_invalid(&stoa, &with("nbf", now() + 60), "not yet valid").await;
    assert_eq!(bearer(&stoa, "/kv/x", &with("exp", now() - 1)).await.status, 200, "within the leeway");
    assert_eq!(bearer(&stoa, "/kv/x", &with("nbf", now() + 2)).await.status, 200, "within the leeway");
    assert_eq!(bearer(&stoa, "/kv/x", &with("nbf", now() - 60)).await.status, 200);
}

#[tokio::test]
async fn each_claim_must_be_there_be_right_and_have_its_type() {
    let (_upstream, stoa) = start().await;
    for name in ["projectId", "route", "scopes", "iss", "aud", "exp"] {
        let mut claims = good();
        claims.as_object_mut().unwrap().remove(name);
        assert_invalid(&stoa, &sign(&claims), &format!("without {name}")).await;
    }
    for (name, value) in [
        ("iss", json!("other")),
        ("iss", json!("")),
        ("iss", json!(7)),
        ("aud", json!("other")),
        ("aud", json!(["other"])),
        ("aud", json!(7)),
        ("projectId", json!(7)),
        ("projectId", json!(null)),
        ("route", json!("auth")),
        ("route", json!("ADMIN")),
        ("route", json!(["AUTH"])),
        ("scopes", json!("admin")),
        ("scopes", json!([7])),
        ("scopes", json!({ "admin": true })),
        ("exp", json!((now() + 60).to_string())),
        ("exp", json!(null)),
        ("exp", json!(-1)),
        ("nbf", json!("soon")),
    ] {
        let mut claims = good();
        claims[name] = value.clone();
        assert_invalid(&stoa, &sign(&claims), &format!("{name} = {value}")).await;
    }
    for payload in [json!([]), json!("admin"), json!(null)] {
        assert_invalid(&stoa, &sign(&payload), "claims that are no object").await;
    }
}

#[tokio::test]
async fn a_token_over_8_kib_is_invalid_and_one_within_is_taken() {
    let (_upstream, stoa) = start().await;
    let padded = |bytes: usize| {
        let mut claims = good();
        claims["padding"] = json!("x".repeat(bytes));
        sign(&claims)
    };
    let (small, large) = (padded(5_000), padded(6_500));
    assert!(small.len() < 8192 && large.len() > 8192, "{} {}", small.len(), large.len());
    assert_eq!(bearer(&stoa, "/build/x", &small).await.status, 200);
    assert_invalid(&stoa, &large, "too large").await;
}

#[tokio::test]
async fn a_malformed_authorization_header_is_an_invalid_token() {
    let (upstream, stoa) = start().await;
    let token = token("AUTH", "admin");
    for authorization in [
        String::new(),
        "Bearer".into(),
        "Bearer ".into(),
        "Bearer a b".into(),
        "Basic YWRtaW46cGFzc3dvcmQ=".into(),
        token.clone(),
        format!("Bearer{token}"),
        format!("Bearer {token} x"),
        format!("Bearer {token}, Bearer {token}"),
        format!("Bearer Bearer {token}"),
        format!("Token {token}"),
        "Bearer \u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}".into(),
    ] {
        for (path, route) in [("/build/x", "BUILD"), ("/kv/x", "KV"), ("/core/x", "CORE")] {
            let answer = call(&stoa, path, &authorization).await;
            assert_eq!(answer.error(), (403, "INVALID_TOKEN".into(), route.into()), "{authorization:?}");
        }
    }
    let twice = reqwest::Client::new().get(stoa.url("/kv/x")).bearer_auth(&token);
    let twice = reply(twice.header("authorization", format!("Bearer {token}"))).await;
    assert_eq!(twice.error(), (403, "INVALID_TOKEN".into(), "KV".into()), "sent twice");
    assert_eq!(upstream.requests(), 0);
    assert_eq!(call(&stoa, "/build/x", &format!("bearer {token}")).await.status, 200, "any case");
}

#[tokio::test]
async fn the_route_of_a_token_must_fit_unless_it_is_core_or_auth() {
    let (_upstream, stoa) = start().await;
    for own in ["BUILD", "KV", "CORE", "AUTH"] {
        for (path, route) in [("/build/x", "BUILD"), ("/kv/x", "KV"), ("/core/x", "CORE")] {
            let answer = bearer(&stoa, path, &token(own, "guest")).await;
            if own == route || own == "CORE" || own == "AUTH" {
                assert_eq!(answer.status, 200, "{own} on {path}");
            } else {
                assert_eq!(answer.error(), (403, "ROUTE_MISMATCH".into(), route.into()), "{own} on {path}");
            }
        }
    }
}

#[tokio::test]
async fn a_token_needs_the_scope_admin_or_guest() {
    let (_upstream, stoa) = start().await;
    for scopes in [json!([]), json!(["other"]), json!(["Admin"]), json!(["admin guest"]), json!([""])] {
        let mut claims = good();
        claims["scopes"] = scopes.clone();
        assert_invalid(&stoa, &sign(&claims), &scopes.to_string()).await;
    }
    for scopes in [json!(["admin"]), json!(["guest"]), json!(["other", "guest"])] {
        let mut claims = good();
        claims["scopes"] = scopes.clone();
        for path in ["/build/x", "/kv/x", "/core/x"] {
            assert_eq!(bearer(&stoa, path, &sign(&claims)).await.status, 200, "{scopes} on {path}");
        }
    }
}

#[tokio::test]
async fn an_identity_made_for_targets_is_no_bearer_token() {
    let (_upstream, stoa) = start().await;
    let echoed = bearer(&stoa, "/build/x", &token("AUTH", "admin")).await.echoed();
    let identity = echoed.header("x-gateway-identity")[0].to_owned();
    assert_invalid(&stoa, &identity, "identity").await;
}

#[tokio::test]
async fn a_token_that_was_taken_before_is_refused_once_it_has_expired() {
    let upstream = Upstream::start().await;
    let stoa = Stoa::start().before(&upstream.url()).set("JWT_TTL", "1s").serve();
    let issued = reply(reqwest::Client::new().post(stoa.url("/auth/guest"))).await.json();
    let token = issued["token"].as_str().unwrap();
    for _ in 0..2 {
        assert_eq!(bearer(&stoa, "/build/x", token).await.status, 200);
    }
    let started = Instant::now();
    while bearer(&stoa, "/build/x", token).await.status == 200 {
        assert!(started.elapsed() < Duration::from_secs(7), "1 s and 5 s of leeway are over");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(started.elapsed() > Duration::from_secs(4), "the leeway counts for remembered tokens too");
    let answer = bearer(&stoa, "/build/x", token).await;
    assert_eq!(answer.error(), (403, "INVALID_TOKEN".into(), "BUILD".into()));
}

#[tokio::test]
async fn a_secret_is_replaced_while_tokens_of_the_old_one_are_about() {
    let upstream = Upstream::start().await;
    let new = "another secret, which is long enough as well";
    let stoa =
        Stoa::start().before(&upstream.url()).set("JWT_SECRET", format!("{new}\n{JWT_SECRET}")).serve();
    let signed_with_new = sign_as(&hs256(), &good(), new, Algorithm::HS256);
    for token in [token("BUILD", "guest"), signed_with_new] {
        assert_eq!(bearer(&stoa, "/build/x", &token).await.status, 200);
    }
    let third = sign_as(&hs256(), &good(), "a third secret that nobody has ever set", Algorithm::HS256);
    assert_invalid(&stoa, &third, "a secret that is not set").await;
    // What is signed now holds with the new secret alone.
    let guest = reply(reqwest::Client::new().post(stoa.url("/auth/guest"))).await.json();
    let data = stoa.data.clone();
    drop(stoa);
    let stoa = Stoa::start().before(&upstream.url()).set("JWT_SECRET", new).data(&data).serve();
    assert_eq!(bearer(&stoa, "/build/x", guest["token"].as_str().unwrap()).await.status, 200);
    assert_invalid(&stoa, &token("AUTH", "admin"), "the old secret").await;
}
