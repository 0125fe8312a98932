//! The portal's entries as a file.

use e2e::{PortalClient, Stoa};
use serde_json::{Value, json};

const FILE: &str = "
updates:
- id: printers
  title: New printers
  body: |
    On the third floor.

    Ask Ada.
  tags: [office, 'yes']
  createdAt: 1700000000000
goals:
- {title: Paperless, progress: 40}
tools:
- {name: Mail, url: 'https://mail.example.org/'}
tasks:
- {title: Move the fax}
pages:
- {title: Opening hours}
teams:
- name: Pumps
  lead: Ada Solberg
  members:
  - {name: Bob Dahl, role: fitter}
  owns: [printers]
";

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_loaded_whole_and_written_in_the_same_form() {
    let start = Stoa::start_portal();
    std::fs::write(start.path().join("portal.yaml"), FILE).unwrap();
    let (code, _, said) = start.run(&["portal", "import", "portal.yaml"]);
    assert_eq!((code, said.trim()), (0, "6 entries are in the portal"));
    let (code, yaml, _) = start.run(&["portal", "export"]);
    assert_eq!(code, 0);
    assert_eq!(start.run(&["portal", "export", "all.json"]).0, 0);
    let json: Value =
        serde_json::from_str(&std::fs::read_to_string(start.path().join("all.json")).unwrap()).unwrap();
    assert_eq!(json["updates"][0]["body"], "On the third floor.\n\nAsk Ada.\n");

    let other = Stoa::start_portal();
    std::fs::write(other.path().join("copy.yaml"), yaml).unwrap();
    assert_eq!(other.run(&["portal", "import", "copy.yaml"]).0, 0);
    assert_eq!(other.run(&["portal", "export", "all.json"]).0, 0);
    let copy: Value =
        serde_json::from_str(&std::fs::read_to_string(other.path().join("all.json")).unwrap()).unwrap();
    assert_eq!(copy, json);

    let stoa = start.serve();
    let client = PortalClient::direct(&stoa, "guest");
    let matrix = client.get("/api/portal/org-matrix").await.json();
    assert_eq!(matrix["teams"][0]["members"], json!([{ "name": "Bob Dahl", "role": "fitter" }]));
    assert_eq!(
        (&matrix["teams"][0]["lead"], &matrix["teams"][0]["owns"]),
        (&json!("Ada Solberg"), &json!(["printers"]))
    );
    assert_eq!(client.get("/api/portal/pages/opening-hours").await.status, 200);
    let found = client.get("/api/portal/search?q=fitter").await.json();
    assert_eq!(
        (&found["results"][0]["type"], &found["results"][0]["title"]),
        (&json!("team"), &json!("Pumps"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_a_fault_changes_nothing_and_its_line_is_named() {
    let start = Stoa::start_portal();
    let bad = format!("{FILE}\n");
    let bad = bad.replace("progress: 40", "progress: 400");
    std::fs::write(start.path().join("bad.yaml"), bad).unwrap();
    let (code, _, said) = start.run(&["portal", "import", "bad.yaml"]);
    assert_eq!(code, 1);
    assert!(said.contains("bad.yaml: line 12: `progress` is not a number from 0 to 100"), "{said}");
    let twice = "pages:\n- {title: A, slug: same}\n- {title: B, slug: same}\n";
    std::fs::write(start.path().join("twice.yaml"), twice).unwrap();
    let (code, _, said) = start.run(&["portal", "import", "twice.yaml"]);
    assert_eq!(code, 1);
    assert!(said.contains("line 3: another page has the slug `same`"), "{said}");
    let (code, _, said) = start.run(&["portal", "import", "nothing.yaml"]);
    assert!(code == 1 && said.contains("cannot read nothing.yaml"), "{said}");
    let (_, yaml, _) = start.run(&["portal", "export"]);
    assert!(!yaml.contains("printers") && !yaml.contains("slug"), "{yaml}");
    // Slugs are compared as they are afterwards.
    for pages in
        ["[{id: a, title: A}, {id: b, title: B}]", "[{id: a, title: A, slug: b}, {id: b, title: B, slug: a}]"]
    {
        std::fs::write(start.path().join("pages.yaml"), format!("pages: {pages}\n")).unwrap();
        let (code, _, said) = start.run(&["portal", "import", "pages.yaml"]);
        assert_eq!(code, 0, "{said}");
    }
    std::fs::write(start.path().join("taken.yaml"), "pages: [{title: C}, {title: B}]\n").unwrap();
    let (code, _, said) = start.run(&["portal", "import", "taken.yaml"]);
    assert!(code == 1 && said.contains("another page has the slug `b`"), "{said}");
    // Replaced where the id is the same, and beside what is there.
    let stoa = start.serve();
    let client = PortalClient::direct(&stoa, "admin");
    let id =
        client.make("/api/portal/updates", &json!({ "title": "A" })).await["id"].as_str().unwrap().to_owned();
    let text = json!({ "updates": [{ "id": id, "title": "B" }] }).to_string();
    std::fs::write(stoa.data.path().join("again.json"), text).unwrap();
    let again = Stoa::start_portal().data(&stoa.data);
    assert_eq!(again.run(&["portal", "import", "again.json"]).0, 0);
    assert_eq!(
        client.get(&format!("/api/portal/updates/{id}")).await.json()["title"],
        "B",
        "a running portal sees it at once"
    );
}
