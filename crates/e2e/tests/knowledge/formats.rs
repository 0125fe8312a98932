//! Files of other programs, and files that would stop a careless reader, through the real upload.

use e2e::{Form, KnowledgeClient, Stoa};
use serde_json::Value;
use std::io::Read;
use std::time::{Duration, Instant};

/// One page that says so, by hand.
fn pdf(text: &str) -> Vec<u8> {
    pdf_of("", format!("BT /F1 24 Tf 72 700 Td ({text}) Tj ET").as_bytes())
}

/// One page with this content, whose stream has `entries` beside its length.
fn pdf_of(entries: &str, content: &[u8]) -> Vec<u8> {
    pdf_pages(entries, &[content])
}

/// A page for each content, whose streams have `entries` beside their length.
pub fn pdf_pages(entries: &str, contents: &[&[u8]]) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len()).map(|page| format!("{} 0 R", 2 * page + 4)).collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), kids.len()).into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ];
    for (page, content) in contents.iter().enumerate() {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>",
            2 * page + 5
        );
        objects.push(page.into_bytes());
        let stream = format!("<< {entries} /Length {} >>\nstream\n", content.len());
        objects.push([stream.as_bytes(), content, b"\nendstream"].concat());
    }
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend_from_slice(format!("{} 0 obj\n", index + 1).as_bytes());
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    let start = file.len();
    file.extend_from_slice(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).as_bytes());
    for place in places {
        file.extend_from_slice(format!("{place:010} 00000 n \n").as_bytes());
    }
    let trailer =
        format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
    file.extend_from_slice(trailer.as_bytes());
    file
}

#[tokio::test]
async fn each_kind_is_read_and_found() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let latin = [&b"Die K\xfchlung der Anlage l\xe4uft \xfcber die Pumpe."[..]].concat();
    let mail = b"From: ada@example.org\r\nTo: bob@example.org\r\nSubject: Coolant order\r\n\r\nPlease order glycol.\r\n";
    let html = b"<html><head><title>Beekeeping</title></head><body><nav>Home Shop</nav><h1>Varroa</h1>\
                 <p>The mite weakens colonies.</p><script>var x = 'hidden';</script></body></html>";
    let files: [(&str, Vec<u8>, &str); 8] = [
        ("notes.txt", latin, "Kühlung"),
        ("manual.md", b"# Pumps\n\n## Seals\n\nReplace the shaft seal yearly.".to_vec(), "shaft seal"),
        ("page.html", html.to_vec(), "varroa mite"),
        ("sheet.csv", b"part,price\nimpeller,120\ngasket,4\n".to_vec(), "impeller price"),
        ("data.json", br#"{"site": {"name": "Rotterdam", "pumps": 3}}"#.to_vec(), "Rotterdam"),
        ("order.eml", mail.to_vec(), "glycol"),
        ("main.rs", b"/// Opens the sluice.\nfn open_sluice() {\n    lift_gate();\n}\n".to_vec(), "sluice"),
        ("plan.pdf", pdf("The turbine hall was built in 1962."), "turbine hall"),
    ];
    for (name, bytes, query) in &files {
        let answer = admin.ingest(name, bytes).await;
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        let found = admin.find(query).await;
        assert_eq!(found[0], answer.json()["documentId"].as_str().unwrap(), "{name} by `{query}`");
    }
    let page = admin.get("/api/search?query=turbine+hall&topK=1").await.json();
    assert_eq!(page["results"][0]["metadata"]["page"], 1, "{page}");
    let seal = admin.get("/api/search?query=shaft+seal&topK=1").await.json();
    assert!(seal["results"][0]["metadata"]["headings"].to_string().contains("Seals"), "{seal}");
    assert!(
        admin.get("/api/search?query=hidden&mode=lexical").await.json()["results"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn hostile_files_are_refused_and_the_service_goes_on() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let loop_of_pages = String::from_utf8(pdf("x")).unwrap().replace("/Kids [4 0 R]", "/Kids [2 0 R]");
    let deep_html = format!("<html>{}deep</html>", "<div>".repeat(100_000));
    let deep_json = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for (name, bytes) in [
        ("loop.pdf", loop_of_pages.into_bytes()),
        ("deep.html", deep_html.into_bytes()),
        ("deep.json", deep_json.into_bytes()),
        ("half.pdf", pdf("whole")[..300].to_vec()),
    ] {
        let answer = tokio::time::timeout(Duration::from_secs(60), admin.ingest(name, &bytes)).await;
        let answer = answer.expect("an end in time");
        assert!([200, 400].contains(&answer.status), "{name}: {answer:?}");
    }
    admin.ingest_text("good.txt", "The pump circulates coolant.").await;
    assert!(admin.settled(Duration::from_secs(5)).await.len() == 5);
}

/// What deflate makes of it.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    flate2::read::ZlibEncoder::new(bytes, flate2::Compression::best()).read_to_end(&mut packed).unwrap();
    packed
}

/// The most memory that a child of the process has used while `done` was not yet, in MiB.
async fn peak_of_children(stoa: &Stoa, done: impl Future<Output = ()>) -> u64 {
    let tasks = format!("/proc/{}/task", stoa.pid());
    let mut done = std::pin::pin!(done);
    let mut peak = 0;
    loop {
        for task in std::fs::read_dir(&tasks).unwrap().map_while(Result::ok) {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in children.split_whitespace() {
                let status = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
                let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
                peak = peak.max(kib.unwrap_or(0) >> 10);
            }
        }
        tokio::select! {
            () = &mut done => return peak,
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_pdf_that_becomes_large_costs_no_more_memory_than_is_set() {
    let stoa = Stoa::start_knowledge().set("EXTRACT_MEMORY_MIB", 300).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let twice = pdf_of("/Filter [/FlateDecode /FlateDecode]", &packed(&packed(&vec![0; 1 << 30])));
    assert!(twice.len() < 8000, "{}", twice.len());
    let many = pdf_of("/Filter /FlateDecode", &packed(&b"q\nQ\n".repeat(14 << 20)));
    for (file, told) in [
        (twice, "more than 67108864 bytes in one stream when unpacked"),
        (many, "takes more than 300 MiB of memory to read"),
    ] {
        let sending = async {
            let answer = admin.ingest("a.pdf", &file).await;
            assert_eq!(answer.status, 400, "{answer:?}");
            assert!(answer.body.contains(told), "{answer:?}");
        };
        let peak = peak_of_children(&stoa, sending).await;
        assert!((1..450).contains(&peak), "{peak} MiB for: {told}");
    }
    admin.ingest_text("b.txt", "The next file is read as ever.").await;
}

#[tokio::test]
async fn a_limit_that_is_passed_is_named_as_a_setting() {
    let stoa = Stoa::start_knowledge().set("MAX_TEXT_CHARACTERS", 100).set("MAX_CELLS", 4).serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    for (name, text, setting) in [
        ("a.txt", "The pump turns. ".repeat(20), "MAX_TEXT_CHARACTERS"),
        ("a.csv", "a,b\n1,2\n3,4\n5,6\n".to_owned(), "MAX_CELLS"),
    ] {
        let answer = admin.ingest(name, text.as_bytes()).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.json()["error"].as_str().unwrap().contains(setting), "{answer:?}");
    }
}

/// Texts of one mebibyte that careless readers take minutes for.
fn slow_texts() -> Vec<(&'static str, Vec<u8>)> {
    let filled = |part: &str| part.repeat((1 << 20) / part.len());
    let mail = |kind: &str, body: &str| {
        let head = "From: ada@example.org\r\nTo: bob@example.org\r\nSubject: Order\r\nMIME-Version: 1.0\r\nContent-Type: ";
        format!("{head}{kind}\r\n\r\n{body}").into_bytes()
    };
    let cells = serde_json::to_string(&filled("*a **b _c ")).unwrap();
    let attributes: String = (0..140_000).map(|number| format!("a{number} ")).collect();
    vec![
        ("brackets.md", filled("[a").into_bytes()),
        ("links.md", filled("[a](").into_bytes()),
        ("emphasis.md", filled("*a **b _c ").into_bytes()),
        ("items.md", format!("{}a\n", "- ".repeat(250)).repeat(2_000).into_bytes()),
        ("deep.json", filled("{\"a\":").into_bytes()),
        ("lists.json", filled("[[1], ").into_bytes()),
        (
            "cell.ipynb",
            format!("{{\"cells\": [{{\"cell_type\": \"markdown\", \"source\": {cells}}}]}}").into_bytes(),
        ),
        (
            "parts.eml",
            mail(
                "multipart/mixed; boundary=b",
                &filled("--b\r\nContent-Disposition: attachment; filename=a\r\n\r\nA part.\r\n"),
            ),
        ),
        ("attributes.eml", mail("text/html", &format!("<a {attributes}"))),
    ]
}

/// Returns a document when its file was read or refused.
async fn read(client: &KnowledgeClient, id: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let document = client.get(&format!("/api/documents/{id}")).await.json();
        let stage = document["stage"].as_str().unwrap_or_default();
        if document["status"] != "processing" || !["queued", "reading"].contains(&stage) {
            return document;
        }
        assert!(Instant::now() < deadline, "{document}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_are_made_to_take_minutes_are_read_in_time_or_refused() {
    let stoa = Stoa::start_knowledge().serve();
    let admin = KnowledgeClient::admin(&stoa).await;
    let mut refused = 0;
    for (name, bytes) in slow_texts() {
        let form = Form::new().file("file", name, &bytes);
        let request = form.into_request(admin.request(reqwest::Method::POST, "/api/ingest"));
        let answer = e2e::reply(request.header("prefer", "respond-async")).await;
        let id = answer.json()["documentId"].as_str().unwrap().to_owned();
        let started = Instant::now();
        let document = read(&admin, &id).await;
        println!("{name:<16} {:>7.3} s {document}", started.elapsed().as_secs_f64());
        let error = document["metadata"]["error"].as_str().unwrap_or_default();
        refused += usize::from(error.contains("was not read within 10 seconds: split it"));
        assert_eq!(admin.delete(&format!("/api/documents/{id}")).await.status, 200);
    }
    assert!(refused > 0, "one is ended by the limit");
}
