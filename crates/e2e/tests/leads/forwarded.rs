//! For whom a lead comes: believed of the gateway and of trusted proxies, and of nobody else, not on this machine either.

use e2e::{Stoa, reply};
use serde_json::json;
use std::net::IpAddr;

/// A proxy of its own address, which is not the one that our services ask each other from.
const PROXY: &str = "127.0.0.2";

fn start(proxies: &str) -> Stoa {
    let start = Stoa::start_leads("[forms.a]\nfields = [\"email\"]\n").only("gateway,portal,leads");
    start.set("LEADS_PER_MINUTE", 2).set("TRUSTED_PROXIES", proxies).serve()
}

/// Posts to a form in the name of `client`, from the address of the proxy.
async fn send(url: &str, client: &str, number: usize) -> u16 {
    let proxy = reqwest::Client::builder().local_address(PROXY.parse::<IpAddr>().unwrap()).build().unwrap();
    let body = json!({ "email": format!("{number}-{client}@example.org") });
    reply(proxy.post(url).header("x-forwarded-for", client).json(&body)).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gateway_vouches_for_the_client_of_a_trusted_proxy_all_the_way() {
    let stoa = start(PROXY);
    let through = stoa.url("/kv/api/leads/a");
    for (client, number, status) in [
        ("203.0.113.7", 0, 202),
        ("203.0.113.7", 1, 202),
        ("203.0.113.7", 2, 429),
        ("203.0.113.8", 3, 202),
        ("203.0.113.9", 4, 202),
    ] {
        assert_eq!(send(&through, client, number).await, status, "{client}");
    }
    let direct = format!("http://{}/api/leads/a", stoa.leads.unwrap());
    assert_eq!(send(&direct, "203.0.113.7", 5).await, 429, "the same client past the gateway");
    assert_eq!(send(&direct, "203.0.113.8", 6).await, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_cannot_choose_the_address_that_is_counted() {
    let stoa = start("192.0.2.1");
    let ways = [
        stoa.url("/kv/api/leads/a"),
        format!("http://{}/api/leads/a", stoa.portal.unwrap()),
        format!("http://{}/api/leads/a", stoa.leads.unwrap()),
    ];
    assert_eq!(send(&ways[0], "203.0.113.1", 0).await, 202);
    assert_eq!(send(&ways[1], "203.0.113.2", 1).await, 202);
    for (number, way) in ways.iter().enumerate() {
        assert_eq!(send(way, &format!("203.0.113.{}", 10 + number), 2 + number).await, 429, "{way}");
    }
}
