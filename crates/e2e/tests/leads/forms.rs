//! The list of forms, for a page that shows their HTML.

use crate::{as_admin, fault, request};
use e2e::tokens::token;
use e2e::{Stoa, reply};
use reqwest::Method;
use serde_json::json;

const FORMS: &str = "[forms.contact]\nfields = [\"name\", \"email\", \"age\"]\nrequired = [\"email\"]\n\
                     origins = [\"https://shop.example\"]\nreturn_to = \"https://shop.example/thanks\"\n\
                     min_fill_time = \"3s\"\nconsent_text = \"You may call me.\"\nconsent_required = true\n\
                     [forms.default]\nfields = [\"email\", \"message\"]\n";

#[tokio::test(flavor = "multi_thread")]
async fn forms_are_listed_with_the_address_that_the_caller_sees() {
    let stoa =
        Stoa::start_leads(FORMS).only("gateway,portal,leads").set("TRUSTED_PROXIES", "127.0.0.1").serve();
    let answer = as_admin(&stoa, Method::GET, "/api/leads/forms").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let own = format!("http://{}", stoa.leads.unwrap());
    let contact = json!({
        "name": "contact",
        "fields": [
            { "name": "name", "required": false, "kind": "name" },
            { "name": "email", "required": true, "kind": "email" },
            { "name": "age", "required": false, "kind": "text" },
        ],
        "origins": ["https://shop.example"],
        "returnTo": "https://shop.example/thanks",
        "action": format!("{own}/api/leads/contact"),
        "honeypot": "_gotcha",
        "started": "_started",
        "consent": { "field": "_consent", "text": "You may call me.", "version": null, "required": true },
    });
    assert_eq!(answer.json()["hasCrm"], json!(false), "leads wait");
    let forms = &answer.json()["forms"];
    assert_eq!((&forms[0], forms.as_array().unwrap().len()), (&contact, 2));
    assert_eq!(
        (&forms[1]["action"], &forms[1]["consent"]),
        (&json!(format!("{own}/api/leads")), &json!(null))
    );

    // Through a proxy with a prefix, the gateway and the portal.
    let outside =
        reqwest::Client::new().get(stoa.url("/kv/api/leads/forms")).bearer_auth(token("AUTH", "admin"));
    let outside = outside.header("x-forwarded-proto", "https").header("x-forwarded-host", "stoa.example");
    let forms = reply(outside.header("x-forwarded-prefix", "/outer")).await.json()["forms"].clone();
    assert_eq!(forms[0]["action"], "https://stoa.example/outer/kv/api/leads/contact");
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_are_for_administrators_and_none_has_the_name_of_the_list() {
    let stoa = Stoa::start_leads("").serve();
    assert_eq!(fault(&reply(request(&stoa, Method::GET, "/api/leads/forms")).await).0, 401);
    let guest = request(&stoa, Method::GET, "/api/leads/forms").bearer_auth(token("KV", "guest"));
    assert_eq!(fault(&reply(guest).await).0, 403);
    let (code, _, stderr) = Stoa::start_leads("[forms.forms]\nfields = [\"email\"]\n").run(&["check"]);
    assert!(code == 2 && stderr.contains("`forms.forms`: expected a name"), "{stderr}");
}
