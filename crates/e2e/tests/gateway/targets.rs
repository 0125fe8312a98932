//! Several targets for one route: who gets the next request, and what a dead one costs.

use e2e::upstream::free_address;
use e2e::{Stoa, Upstream, get, reply};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

fn before(urls: &[String]) -> Stoa {
    Stoa::start().before(&urls.join(",")).serve()
}

#[tokio::test]
async fn idle_targets_take_turns() {
    let (one, two) = (Upstream::start().await, Upstream::start().await);
    let stoa = before(&[one.url(), two.url()]);
    for _ in 0..20 {
        assert_eq!(get(stoa.url("/kv/x")).await.status, 200);
    }
    assert_eq!((one.requests(), two.requests()), (10, 10));
}

#[tokio::test]
async fn the_least_busy_target_gets_the_next_request() {
    let (one, two) = (Upstream::start().await, Upstream::start().await);
    let stoa = before(&[one.url(), two.url()]);
    let mut hanging = JoinSet::new();
    for _ in 0..4 {
        hanging.spawn(reqwest::Client::new().get(stoa.url("/kv/hang")).send());
    }
    while one.requests() + two.requests() < 4 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!((one.requests(), two.requests()), (2, 2), "those that hang are shared");
    two.kill();
    while hanging.len() > 2 {
        assert_eq!(hanging.join_next().await.unwrap().unwrap().unwrap().status(), 502);
    }
    let free = Upstream::start_at(two.address).await;
    // Two failures do not take it out of the choice, and it has nothing to do.
    for _ in 0..10 {
        assert_eq!(get(stoa.url("/kv/x")).await.status, 200);
    }
    assert_eq!((one.requests(), free.requests()), (2, 10));
}

#[tokio::test]
async fn a_dead_target_costs_no_request() {
    let alive = Upstream::start().await;
    let stoa = before(&[format!("http://{}", free_address().await), alive.url()]);
    for number in 0..20 {
        let request = reqwest::Client::new().post(stoa.url("/kv/x")).body(number.to_string());
        assert_eq!(reply(request).await.echoed().body(), number.to_string());
    }
    assert_eq!(alive.requests(), 20);
}

#[tokio::test]
async fn a_target_that_dies_is_replaced_by_the_other() {
    let (dies, stays) = (Upstream::start().await, Upstream::start().await);
    let stoa = before(&[dies.url(), stays.url()]);
    for _ in 0..10 {
        assert_eq!(get(stoa.url("/kv/x")).await.status, 200);
    }
    dies.kill();
    for _ in 0..20 {
        assert_eq!(get(stoa.url("/kv/x")).await.status, 200);
    }
    assert_eq!((dies.requests(), stays.requests()), (5, 25));
}

#[tokio::test]
async fn a_target_that_comes_back_is_used_again() {
    let (address, alive) = (free_address().await, Upstream::start().await);
    let stoa = before(&[format!("http://{address}"), alive.url()]);
    assert_eq!(get(stoa.url("/kv/x")).await.status, 200);
    assert_eq!(get(stoa.url("/kv/x")).await.status, 200);
    let back = Upstream::start_at(address).await;
    let started = Instant::now();
    while back.requests() < 3 {
        assert!(started.elapsed() < Duration::from_secs(5), "it has been back for 5 s");
        assert_eq!(get(stoa.url("/kv/x")).await.status, 200);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn with_all_targets_dead_the_route_is_unavailable_until_one_is_back() {
    let (one, two) = (free_address().await, free_address().await);
    let stoa = before(&[format!("http://{one}"), format!("http://{two}")]);
    for _ in 0..3 {
        let answer = get(stoa.url("/kv/x")).await;
        assert_eq!(answer.error(), (502, "UPSTREAM_UNAVAILABLE".into(), "KV".into()));
    }
    let _back = Upstream::start_at(one).await;
    assert_eq!(get(stoa.url("/kv/x")).await.status, 200, "the last resort is tried at once");
}

#[tokio::test]
async fn each_route_has_its_own_targets() {
    let upstream = Upstream::start().await;
    let dead = format!("http://{}", free_address().await);
    let stoa = Stoa::start().set("KV_SERVICE_URL", upstream.url()).set("CORE_SERVICE_URL", dead).serve();
    assert_eq!(get(stoa.url("/core/x")).await.status, 502);
    assert_eq!(get(stoa.url("/kv/x")).await.status, 200);
}
