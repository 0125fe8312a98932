//! Which provider answers.

use crate::peer::{Peer, error};
use crate::{KEY, settings};
use llm::{EDGE_AI, Edge, Providers, VENDOR_A, VENDOR_B, VENDOR_C, VendorSettings, Vendors};

const NAMES: [(&str, &str); 6] = [
    (VENDOR_A, VENDOR_A),
    (VENDOR_B, VENDOR_B),
    (VENDOR_C, VENDOR_C),
    ("openai", VENDOR_A),
    ("anthropic", VENDOR_B),
    ("gemini", VENDOR_C),
];

fn providers(vendors: Vendors) -> Providers {
    Providers::new(Edge::new(None, "edge"), vendors, None).unwrap()
}

fn every_vendor() -> Vendors {
    let settings = |window| Some(VendorSettings { window, ..settings("https://127.0.0.1:9/v1") });
    Vendors { a: settings(8_000), b: settings(200_000), c: settings(1_000_000), ..Vendors::none() }
}

#[test]
fn a_vendor_with_a_key_answers_under_both_its_names() {
    let providers = providers(every_vendor());
    for (name, provider) in NAMES {
        let default = providers.pick(name, None).unwrap();
        assert_eq!((default.provider(), default.model()), (provider, "default-model"));
        assert_eq!(providers.pick(name, Some("other")).unwrap().model(), "other");
        assert_eq!(providers.pick(name, Some("")).unwrap().model(), "default-model");
    }
    let windows = [VENDOR_A, VENDOR_B, VENDOR_C].map(|name| providers.pick(name, None).unwrap().window());
    assert_eq!(windows, [8_000, 200_000, 1_000_000]);
    assert_eq!(providers.pick(VENDOR_A, None).unwrap().tokens("four"), 2);
}

#[test]
fn without_a_key_the_embedded_model_answers() {
    let providers = providers(Vendors { b: every_vendor().b, ..Vendors::none() });
    for (name, provider) in NAMES {
        let expected = if provider == VENDOR_B { VENDOR_B } else { EDGE_AI };
        assert_eq!(providers.pick(name, Some("any")).unwrap().provider(), expected);
    }
    assert_eq!(providers.pick(EDGE_AI, None).unwrap().model(), "edge");
    assert_eq!(providers.edge().provider(), EDGE_AI);
}

#[test]
fn an_unknown_provider_is_an_error() {
    for name in ["", "vendor-d", "OpenAI", "edge"] {
        let fault = providers(every_vendor()).pick(name, None).err().unwrap().to_string();
        assert_eq!(
            fault,
            format!(
                "unknown provider `{name}`: one of edge-ai, vendor-a, vendor-b, vendor-c, or the name of a connection"
            )
        );
    }
}

#[test]
fn all_are_listed_in_order() {
    let listed = |vendors| {
        providers(vendors).all().iter().map(|model| model.provider().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(every_vendor()), [EDGE_AI, VENDOR_A, VENDOR_B, VENDOR_C]);
    assert_eq!(listed(Vendors { b: None, ..every_vendor() }), [EDGE_AI, VENDOR_A, VENDOR_C]);
    assert_eq!(listed(Vendors::none()), [EDGE_AI]);
}

#[tokio::test]
async fn vendors_are_reached_without_their_key() {
    let check = |request: &crate::peer::Request| {
        crate::hold(
            request.method == "GET" && request.headers.iter().all(|(_, value)| !value.contains(KEY)),
            "the key",
        )
    };
    let peer = Peer::start(check, [error(404, "")]).await;
    let vendors = Vendors {
        a: Some(settings(&peer.url())),
        c: Some(settings("http://127.0.0.1:9")),
        ..Vendors::none()
    };
    let found = vendors.reach().await;
    assert_eq!(
        found.iter().map(|(name, found)| (*name, found.is_ok())).collect::<Vec<_>>(),
        [(VENDOR_A, true), (VENDOR_C, false)]
    );
    assert_eq!(peer.requests(), 1);
}
