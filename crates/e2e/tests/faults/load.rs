//! A mixed load on all services, which notes what was acknowledged, and the check that all of it is there.

use e2e::passages::{count, execute};
use e2e::{Crm, Form, KnowledgeClient, PortalClient, Stoa, SupervisorClient, tokens};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

/// What was acknowledged.
#[derive(Default)]
pub struct Ledger {
    next: AtomicUsize,
    documents: Mutex<Vec<(usize, String)>>,
    leads: Mutex<Vec<String>>,
    /// The highest number that a patch has set. One is sent at a time: of two, the lower number may be the last.
    patched: AtomicUsize,
    patching: tokio::sync::Mutex<()>,
    questions: Mutex<Vec<String>>,
    runs: Mutex<Vec<String>>,
}

/// The clients of one process. Sessions and tokens are those of the first: all processes accept them.
pub struct Clients {
    knowledge: KnowledgeClient,
    portal: PortalClient,
    supervisor: SupervisorClient,
    leads: String,
    http: Client,
}

/// What the load works on: made before the first kill.
pub struct Subjects {
    goal: String,
    conversation: String,
}

fn number(ledger: &Ledger) -> usize {
    ledger.next.fetch_add(1, Relaxed)
}

/// Returns the answer, or none if the process died first.
async fn sent(request: RequestBuilder) -> Option<(u16, Value)> {
    let response = request.timeout(Duration::from_secs(10)).send().await.ok()?;
    let status = response.status().as_u16();
    Some((status, response.json().await.ok()?))
}

impl Clients {
    pub async fn of(stoa: &Stoa) -> Self {
        Self {
            knowledge: KnowledgeClient::admin(stoa).await,
            portal: PortalClient::with_token(stoa, tokens::token_for_days("KV", "admin")),
            supervisor: SupervisorClient::local(stoa),
            leads: format!("http://{}/api/leads", stoa.leads.expect("the lead ingest runs")),
            http: Client::new(),
        }
    }

    pub async fn subjects(&self) -> Subjects {
        let goal = self.portal.make("/api/portal/goals", &json!({ "title": "0" })).await;
        let conversation = self.knowledge.post("/api/conversations").await.json();
        let id = |made: &Value| made["id"].as_str().expect("an id").to_owned();
        Subjects { goal: id(&goal), conversation: id(&conversation) }
    }

    /// Does all kinds of work until it is dropped or the process is gone.
    pub async fn work(&self, ledger: &Ledger, subjects: &Subjects) {
        tokio::join!(
            async { while self.upload(ledger).await.is_some() {} },
            async { while self.lead(ledger).await.is_some() {} },
            async { while self.patch(ledger, subjects).await.is_some() {} },
            async { while self.ask(ledger, subjects).await.is_some() {} },
            async { while self.execute(ledger).await.is_some() {} },
        );
    }

    /// Does all kinds of work until it is dropped, also while the process cannot answer.
    pub async fn keep_working(&self, ledger: &Ledger, subjects: &Subjects) {
        loop {
            self.work(ledger, subjects).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn upload(&self, ledger: &Ledger) -> Option<()> {
        let number = number(ledger);
        let form = Form::new().file("file", &format!("{number}.txt"), text(number).as_bytes());
        let request = form.into_request(self.knowledge.request(Method::POST, "/api/ingest"));
        let (status, body) = sent(request.header("prefer", "respond-async")).await?;
        if status == 202 {
            let id = body["documentId"].as_str().expect("an id").to_owned();
            ledger.documents.lock().unwrap().push((number, id));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        Some(())
    }

    async fn lead(&self, ledger: &Ledger) -> Option<()> {
        let email = format!("lead{}@example.org", number(ledger));
        let (status, _) = sent(self.http.post(&self.leads).json(&json!({ "email": email }))).await?;
        if status == 202 {
            ledger.leads.lock().unwrap().push(email);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        Some(())
    }

    async fn patch(&self, ledger: &Ledger, subjects: &Subjects) -> Option<()> {
        let turn = ledger.patching.lock().await;
        let number = number(ledger);
        let path = format!("/api/portal/goals/{}", subjects.goal);
        let patch = json!({ "title": number.to_string() });
        let (status, _) = sent(self.portal.request(Method::PATCH, &path).json(&patch)).await?;
        if status == 200 {
            ledger.patched.fetch_max(number, Relaxed);
        }
        drop(turn);
        tokio::time::sleep(Duration::from_millis(10)).await;
        Some(())
    }

    async fn ask(&self, ledger: &Ledger, subjects: &Subjects) -> Option<()> {
        let query = format!("What does report {} say of pumps?", number(ledger));
        let path = format!("/api/conversations/{}/messages", subjects.conversation);
        let body = json!({ "query": query });
        let (status, _) = sent(self.knowledge.request(Method::POST, &path).json(&body)).await?;
        if status == 202 {
            ledger.questions.lock().unwrap().push(query);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        Some(())
    }

    async fn execute(&self, ledger: &Ledger) -> Option<()> {
        let seed = json!({ "name": "Bees", "product_seed": "A diary of each hive." });
        let (status, made) = sent(self.supervisor.request(Method::POST, "/api/projects").json(&seed)).await?;
        if status == 201 {
            let project = made["id"].as_str().expect("an id").to_owned();
            let request = self.supervisor.execution(&project, "prd").header("prefer", "respond-async");
            if sent(request).await?.0 == 202 {
                ledger.runs.lock().unwrap().push(project);
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        Some(())
    }
}

/// A short report that only one search finds.
fn text(number: usize) -> String {
    let sentence =
        |line: usize| format!("Report {number} says in line {line} that pump {} is sound. ", line % 7);
    format!(
        "The word of this report is token{number}x. {}",
        (0..5 + number % 30).map(sentence).collect::<String>()
    )
}

impl Ledger {
    /// Checks that all that was acknowledged is there, and that nothing is left undone.
    pub async fn check(&self, clients: &Clients, subjects: &Subjects, crm: &Crm, database: &str) {
        self.check_all_but_leads(clients, subjects, database).await;
        self.check_leads(crm).await;
    }

    /// Checks that the CRM has every lead.
    pub async fn check_leads(&self, crm: &Crm) {
        let leads = self.leads.lock().unwrap().clone();
        until("every lead has arrived", async || {
            let taken: BTreeSet<String> = crm
                .sent()
                .iter()
                .filter(|sent| sent.is_taken())
                .filter_map(|sent| Some(sent.body["data"]["email"].as_str()?.to_owned()))
                .collect();
            leads.iter().all(|email| taken.contains(email))
        })
        .await;
    }

    /// Prints how much it was.
    pub async fn check_all_but_leads(&self, clients: &Clients, subjects: &Subjects, database: &str) {
        let (documents, leads) = (self.documents.lock().unwrap().clone(), self.leads.lock().unwrap().clone());
        let (questions, runs) = (self.questions.lock().unwrap().clone(), self.runs.lock().unwrap().clone());
        println!(
            "acknowledged: {} documents, {} leads, patch {}, {} questions, {} runs",
            documents.len(),
            leads.len(),
            self.patched.load(Relaxed),
            questions.len(),
            runs.len()
        );
        assert!(!documents.is_empty() && !leads.is_empty() && !questions.is_empty() && !runs.is_empty());
        until("no document is in work", async || {
            count(database, "SELECT COUNT(*) FROM documents WHERE status = 'processing'").await == 0
        })
        .await;
        for (number, id) in &documents {
            let document = clients.knowledge.get(&format!("/api/documents/{id}")).await;
            assert_eq!(document.json()["status"], "indexed", "{document:?}");
            let found = clients.knowledge.find(&format!("token{number}x")).await;
            assert_eq!(found.first(), Some(id), "report {number}");
        }
        let title = clients.portal.get(&format!("/api/portal/goals/{}", subjects.goal)).await.json();
        let title: usize = title["title"].as_str().unwrap().parse().unwrap();
        assert!(title >= self.patched.load(Relaxed), "patch {title}");
        let conversation = format!("/api/conversations/{}", subjects.conversation);
        until("no answer is being written", async || {
            clients.knowledge.get(&conversation).await.json()["conversation"]["running"] == false
        })
        .await;
        let stored = count(database, "SELECT COUNT(*) FROM messages WHERE role = 'user'").await;
        assert!(stored >= questions.len() as i64, "{stored} of {} questions", questions.len());
        self.check_runs(clients, &runs).await;
        check_tables(database).await;
    }

    async fn check_runs(&self, clients: &Clients, runs: &[String]) {
        for project in runs {
            until("every run is complete", async || {
                clients.supervisor.state(project).await["status"] == "complete"
            })
            .await;
            let artifacts = clients.supervisor.list(&format!("/api/artifacts/{project}?versions=all")).await;
            assert_eq!(artifacts.len(), 3, "each step once: {artifacts:?}");
        }
    }
}

/// Checks that no row misses another.
async fn check_tables(database: &str) {
    let none = [
        "SELECT COUNT(*) FROM documents WHERE status = 'indexed' AND chunk_count <>
            (SELECT COUNT(*) FROM chunks WHERE document_id = documents.id)",
        "SELECT COUNT(*) FROM documents WHERE status = 'indexed' AND chunk_count <>
            (SELECT MAX(position) + 1 FROM chunks WHERE document_id = documents.id)",
        "SELECT COUNT(*) FROM chunks WHERE document_id NOT IN (SELECT id FROM documents)",
        "SELECT COUNT(*) FROM (SELECT stream FROM events GROUP BY stream HAVING MAX(seq) <> COUNT(*)) AS gaps",
    ];
    for query in none {
        assert_eq!(count(database, query).await, 0, "{query}");
    }
    if database.starts_with("sqlite") {
        assert_eq!(count(database, "SELECT COUNT(*) FROM pragma_foreign_key_check").await, 0);
        assert_eq!(
            count(database, "SELECT COUNT(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'")
                .await,
            0
        );
        execute(database, "PRAGMA wal_checkpoint").await;
    }
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "not so after {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
