//! What the tools are called, what they are for, and what they take and give: read by models to choose from.

use crate::chat::{Agent, DEFAULT_SOURCES};
use crate::documents::Status;
use crate::http::scope::MOST_DOCUMENTS;
use crate::http::search::DEFAULT_RESULTS;
use crate::listing::MOST_LISTED;
use crate::search::MOST_RESULTS;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

pub const SEARCH: &str = "search";
pub const GRAPH_NEIGHBORS: &str = "graph_neighbors";
pub const LIST_DOCUMENTS: &str = "list_documents";
pub const ASK: &str = "ask";

pub const DEFAULT_NEIGHBOURS: usize = 20;
pub const MOST_NEIGHBOURS: usize = 200;

pub const INSTRUCTIONS: &str = "The user's own library of documents. `search` finds passages, `ask` answers a question \
    from them with citations, `graph_neighbors` shows what a name or concept is connected to, `list_documents` says \
    what there is.";

pub fn tools() -> Vec<Tool> {
    vec![search(), graph_neighbors(), list_documents(), ask()]
}

fn search() -> Tool {
    tool(
        SEARCH,
        "Search documents",
        "Finds the passages of the user's documents that bear on a question, by meaning, by words and over connected \
         names. Each comes with its text, its document, and a score between 0 and 1.",
        json!({
            "query": { "type": "string", "description": "The question, or what to look for" },
            "topK": whole("How many passages at most", DEFAULT_RESULTS, MOST_RESULTS),
            "mode": {
                "type": "string",
                "enum": ["graph", "hybrid", "dense", "lexical"],
                "default": "graph",
                "description": "By meaning (dense), by words (lexical), both (hybrid), or both and over connected names \
                                (graph)",
            },
            "documentId": { "type": "string", "description": "Only in the document with this id" },
            "documentIds": document_ids("Only in the documents with these ids"),
            "category": category(),
            "tags": tags(),
        }),
        &["query"],
        json!({ "results": list("Passages, the best first") }),
        &["results"],
    )
}

fn graph_neighbors() -> Tool {
    tool(
        GRAPH_NEIGHBORS,
        "Neighbours in the graph",
        "Shows what a person, place, organization or concept is connected to in the user's documents, and how strongly \
         (between 0 and 1), with the documents that name it.",
        json!({
            "node": { "type": "string", "description": "A node's id, or the name of what is meant" },
            "limit": whole("How many neighbours at most", DEFAULT_NEIGHBOURS, MOST_NEIGHBOURS),
        }),
        &["node"],
        json!({
            "node": { "type": "object", "description": "The node that was found" },
            "neighbors": list("What it is connected to, the strongest first"),
        }),
        &["node", "neighbors"],
    )
}

fn list_documents() -> Tool {
    tool(
        LIST_DOCUMENTS,
        "List documents",
        "Lists the user's documents, newest first: id, title, status, number of passages, and when each was uploaded, \
         in milliseconds since 1970.",
        json!({
            "status": {
                "type": "string",
                "enum": Status::ALL.map(Status::as_str),
                "description": "Only documents of this status",
            },
            "title": { "type": "string", "description": "Only documents with this in their title" },
            "category": category(),
            "tags": tags(),
            "limit": whole("How many documents at most", MOST_LISTED, MOST_LISTED),
            "after": { "type": "string", "description": "The `next` of the list that this one continues" },
        }),
        &[],
        json!({
            "documents": list("The documents, newest first"),
            "next": { "type": ["string", "null"], "description": "Where the list goes on; null at its end" },
        }),
        &["documents"],
    )
}

fn ask() -> Tool {
    tool(
        ASK,
        "Ask the documents",
        "Answers a question from the user's documents, citing them as [1], [2], and gives the sources by these numbers. \
         Says so where the documents have nothing about it. Counts as a chat request.",
        json!({
            "question": { "type": "string", "description": "The question" },
            "agentType": {
                "type": "string",
                "enum": Agent::ALL.map(Agent::name),
                "default": Agent::default().name(),
                "description": "Who answers: each agent looks at the sources in its own way",
            },
            "documentId": { "type": "string", "description": "Answer from the document with this id only" },
            "documentIds": document_ids("Answer from the documents with these ids only"),
            "topK": whole("How many sources at most", DEFAULT_SOURCES, MOST_RESULTS),
        }),
        &["question"],
        json!({
            "answer": { "type": "string" },
            "sources": list("The sources, each with its `number`"),
            "provider": { "type": "string" },
            "model": { "type": "string" },
        }),
        &["answer", "sources"],
    )
}

fn tool(
    name: &'static str,
    title: &str,
    description: &'static str,
    takes: Value,
    required: &[&str],
    gives: Value,
    always: &[&str],
) -> Tool {
    let mut tool = Tool::new(name, description, object(takes, required));
    tool.title = Some(title.to_owned());
    tool.output_schema = Some(object(gives, always).into());
    tool.annotations = Some(ToolAnnotations::new().read_only(true).open_world(false));
    tool
}

fn object(properties: Value, required: &[&str]) -> Map<String, Value> {
    let parts = [("type", json!("object")), ("properties", properties), ("required", json!(required))];
    parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn whole(description: &str, default: usize, most: usize) -> Value {
    json!({
        "type": "integer",
        "minimum": 1,
        "maximum": most,
        "default": default,
        "description": description,
    })
}

fn document_ids(description: &str) -> Value {
    json!({
        "type": "array",
        "items": { "type": "string" },
        "minItems": 1,
        "maxItems": MOST_DOCUMENTS,
        "description": description,
    })
}

fn category() -> Value {
    json!({ "type": "string", "description": "Only documents of this category" })
}

fn tags() -> Value {
    json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "Only documents that have all of these tags",
    })
}

fn list(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "object" }, "description": description })
}
