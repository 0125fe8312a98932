//! The graph of what the documents name.

use e2e::{KnowledgeClient, Stoa};
use serde_json::Value;
use std::collections::BTreeSet;

const TEXTS: [&str; 3] = [
    "Dr. Ada Solberg joined Acme Industries in Rotterdam. At Acme Industries, Ada Solberg leads the pump laboratory.",
    "The pump laboratory of Acme Industries tests the pump P-204. Pump P-204 cools the turbine hall.",
    "The turbine hall in Rotterdam was built in 1962. The turbine hall holds three steam turbines.",
];

fn labels(graph: &Value) -> BTreeSet<String> {
    let nodes = graph["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["label"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn names_are_typed_joined_and_narrowed() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let mut ids = Vec::new();
    for text in TEXTS {
        ids.push(admin.ingest_text("notes.txt", text).await);
    }
    let graph = admin.get("/api/graph").await.json();
    let nodes = graph["nodes"].as_array().unwrap();
    let node = |label: &str| {
        nodes.iter().find(|node| node["label"] == label).unwrap_or_else(|| panic!("{label}: {graph}"))
    };
    assert_eq!(node("Ada Solberg")["type"], "person");
    assert_eq!(node("Acme Industries")["type"], "organization");
    assert_eq!(node("Rotterdam")["type"], "place");
    assert_eq!(
        node("Acme Industries")["documentIds"].as_array().unwrap().len(),
        2,
        "joined across documents"
    );
    let types = ["concept", "person", "organization", "place", "event", "product", "term"];
    assert!(nodes.iter().all(|node| types.contains(&node["type"].as_str().unwrap())), "{graph}");
    assert!(
        nodes.iter().all(|node| node["community"].is_u64() && !node["id"].as_str().unwrap().is_empty()),
        "{graph}"
    );
    let known: BTreeSet<&str> = nodes.iter().map(|node| node["id"].as_str().unwrap()).collect();
    for edge in graph["edges"].as_array().unwrap() {
        assert!(
            known.contains(edge["source"].as_str().unwrap())
                && known.contains(edge["target"].as_str().unwrap())
        );
        assert!((0.0..=1.0).contains(&edge["strength"].as_f64().unwrap()), "{edge}");
        assert_eq!(edge["type"], "relates_to");
    }

    let few = admin.get("/api/graph?limit=2").await.json();
    assert_eq!(few["nodes"].as_array().unwrap().len(), 2);
    let third = admin.get(&format!("/api/graph?documentId={}", ids[2])).await.json();
    assert!(labels(&third).contains("Rotterdam") && !labels(&third).contains("Ada Solberg"), "{third}");
    let center = node("Ada Solberg")["id"].as_str().unwrap();
    let around = admin.get(&format!("/api/graph?around={center}")).await.json();
    assert!(
        labels(&around).contains("Ada Solberg") && labels(&around).contains("Acme Industries"),
        "{around}"
    );
    assert!(labels(&around).len() < labels(&graph).len());
    assert_eq!(admin.get("/api/graph?around=nothing").await.status, 404);
    for limit in ["0", "x", "1000000"] {
        assert_eq!(admin.get(&format!("/api/graph?limit={limit}")).await.status, 400, "{limit}");
    }
}

#[tokio::test]
async fn the_graph_does_not_depend_on_the_order_of_documents() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let shape = |graph: Value| {
        let mut nodes: Vec<String> = graph["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| format!("{} {} {} {}", node["id"], node["label"], node["type"], node["strength"]))
            .collect();
        nodes.sort();
        let mut edges: Vec<String> =
            graph["edges"].as_array().unwrap().iter().map(Value::to_string).collect();
        edges.sort();
        (nodes, edges)
    };
    let mut shapes = Vec::new();
    for (name, order) in [("ada", [0, 1, 2]), ("bob", [2, 0, 1])] {
        let user = admin.invite(&stoa, name).await;
        for index in order {
            user.ingest_text("notes.txt", TEXTS[index]).await;
        }
        shapes.push(shape(user.get("/api/graph").await.json()));
    }
    assert_eq!(shapes[0], shapes[1]);
}

#[tokio::test]
async fn the_graph_opens_with_names_that_people_know() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let files = [
        (
            "boats.csv",
            "vessel_name,Home_port,temp_max\nMarit,Skarness,12.8\nEllida,Brevik,11.1\nPetrel,Skarness,9\n",
        ),
        (
            "tidectl.1",
            ".TH TIDECTL 1\n.SH NAME\ntidectl \\- show the tide tables\n.SH DESCRIPTION\n\
             tidectl reads $TIDE_HOME, DEB_ and DEB_HOST_ARCH, as tided(8) does.\n.SH AUTHOR\nIngrid Solberg\n",
        ),
        (
            "boot.txt",
            "Wir haben die Fähre gesehen. Und Wir fragten nach dem Fahrplan, den Karl Brandt nicht hatte.",
        ),
        (
            "readme.md",
            "# Boats\n\nWe draw with Hedgerow.\n\n```js\nconst Mapfold = loadTide('Quillon');\n```\n\nSet `maxAge_s` first.\n",
        ),
        ("boats.py", "# By Vasko Trin.\nclass TideTable(RowModel):\n    LIMIT_S = 3\n"),
    ];
    for (name, text) in files {
        admin.ingest_text(name, text).await;
    }
    let graph = admin.get("/api/graph").await.json();
    let found = labels(&graph);
    for name in ["Marit", "Skarness", "Brevik", "Ingrid Solberg", "Karl Brandt", "Hedgerow", "Vasko Trin"] {
        assert!(found.contains(name), "`{name}` is not among {found:?}");
    }
    let lower: Vec<String> = found.iter().map(|label| label.to_lowercase()).collect();
    for name in ["vessel", "home_port", "home port", "temp", "tide_home", "deb", "wir", "mapfold"] {
        assert!(!lower.iter().any(|label| label.contains(name)), "`{name}` is among {found:?}");
    }
    for name in ["loadtide", "quillon", "maxage", "tidetable", "rowmodel", "limit"] {
        assert!(!lower.iter().any(|label| label.contains(name)), "`{name}` is among {found:?}");
    }
    let kind = |label: &str| {
        let node = graph["nodes"].as_array().unwrap().iter().find(|node| node["label"] == label);
        node.map(|node| node["type"].as_str().unwrap().to_owned())
    };
    assert_eq!([kind("tidectl"), kind("tided")], [Some("product".to_owned()), Some("product".to_owned())]);
}
