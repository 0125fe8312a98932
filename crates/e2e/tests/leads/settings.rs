//! Forms and CRM as somebody sets them, right or wrong.

use crate::{lead, url};
use e2e::{Crm, Stoa};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn every_wrong_form_and_setting_is_named_at_once() {
    let forms = "[forms.contact]\nfields = [\"email\"]\nrequired = [\"age\"]\nreturn_to = \"javascript:alert(1)\"\n\
                 [forms.twice]\nfields = [\"mail\", \"post\"]\ncrm = { mail = \"x\", post = \"x\" }\n\
                 [forms.export]\nfields = [\"email\"]\n";
    let start = Stoa::start_leads(forms)
        .set("CRM_KIND", "salesforce")
        .set("CRM_URL", "ftp://user:hunter2@crm.example")
        .set("CRM_SIGNING_SECRET", "hunter2")
        .set("CRM_RETRY_FIRST", "2s")
        .set("LEADS_PER_MINUTE", "0")
        .set("LEADS_LISTEN", "8084");
    for command in ["serve", "check"] {
        let (code, _, stderr) = start.run(&[command]);
        assert_eq!(code, 2, "{stderr}");
        for expected in [
            "`forms.contact.required`: `age` is not among the fields of the form",
            "`forms.contact.return_to`: `javascript:alert(1)` is not a return address",
            "`forms.twice.crm`: `mail` and `post` would both be sent as `x`",
            "`forms.export`: expected a name",
            "CRM_KIND: `salesforce` is not known: one of webhook, hubspot",
            "CRM_URL: is not an address",
            "CRM_SIGNING_SECRET: is not a signing secret",
            "CRM_RETRY_LONGEST: is shorter than CRM_RETRY_FIRST",
            "LEADS_PER_MINUTE: `0`",
            "LEADS_LISTEN: `8084` is not an address",
        ] {
            assert!(stderr.contains(expected), "{expected:?} is not in:\n{stderr}");
        }
        assert!(!stderr.contains("hunter2"), "{stderr}");
    }
    let (_, _, stderr) = Stoa::start_leads("").set("CRM_KIND", "hubspot").run(&["check"]);
    assert!(stderr.contains("CRM_TOKEN: is missing"), "{stderr}");
    let (_, _, stderr) = Stoa::start_leads("").set("CRM_KIND", "webhook").run(&["check"]);
    assert!(stderr.contains("CRM_URL: is missing"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_reaches_the_crm_and_names_the_forms() {
    let crm = Crm::start().await;
    let start = Stoa::start_leads("[forms.contact]\nfields = [\"email\"]\n").with_webhook(&crm);
    let (_, stdout, _) = start.run(&["check"]);
    assert!(stdout.contains("ok      forms          contact"), "{stdout}");
    assert!(
        stdout.contains(&format!("ok      crm            http://{}/ webhook, signed", crm.address)),
        "{stdout}"
    );
    assert_eq!(crm.sent().len(), 0, "no lead is made up for it");
    let (code, stdout, _) = start.set("CRM_URL", "http://127.0.0.1:1/hook").run(&["check"]);
    assert_eq!(code, 1);
    assert!(stdout.contains("FAILED  crm            http://127.0.0.1:1/"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_without_a_signature_is_told_at_the_start() {
    let crm = Crm::start().await;
    let told = "CRM_SIGNING_SECRET is unset";
    let signed = Stoa::start_leads("").with_webhook(&crm).serve();
    lead(&signed, "/api/leads", json!({ "email": "ada@example.org" })).await;
    crm.taken(1).await;
    assert!(!signed.log().contains(told), "{}", signed.log());
    let unsigned = Stoa::start_leads("").set("CRM_URL", "http://127.0.0.1:1/hook").serve();
    assert!(unsigned.logs(told), "{}", unsigned.log());
    let log = unsigned.log();
    assert!(log.lines().any(|line| line.contains(told) && line.contains("WARN")), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_runs_beside_the_others_and_tells_where() {
    let stoa = Stoa::start_bare().serve();
    assert!(stoa.banner.contains(&format!("leads          {}", url(&stoa, ""))), "{}", stoa.banner);
    lead(&stoa, "/api/leads", json!({ "email": "ada@example.org" })).await;
    assert_eq!(e2e::get(url(&stoa, "/livez")).await.status, 200);
    let ready = e2e::get(url(&stoa, "/readyz")).await;
    assert!(ready.body.contains("database"), "{ready:?}");
    assert_eq!(e2e::get(url(&stoa, "/nowhere")).await.status, 404);
    let (code, document, _) = Stoa::start().run(&["openapi", "leads"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!((code, &document["openapi"]), (0, &json!("3.1.0")));
    for path in ["/api/leads", "/api/leads/{name}", "/api/leads/{id}/retry", "/api/leads/export"] {
        assert!(document["paths"][path].is_object(), "{path} is not documented");
    }
}
