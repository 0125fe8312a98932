//! `GET /api/graph`.

use super::App;
use super::caller::Caller;
use super::error::Failure;
use crate::indexes::ShownGraph;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue};
use kit::error::ApiError;
use kit::request::Params;
use serde_json::{Value, json};

const DEFAULT_NODES: usize = 500;
const MOST_NODES: usize = 10_000;
/// Of all nodes together: a word that every document has would list them all.
const MOST_DOCUMENT_IDS: usize = 100_000;

/// Says which changes to the documents are in the graph. Not in the body, which depends on the documents alone.
const REVISION: HeaderName = HeaderName::from_static("x-graph-revision");

/// The strongest nodes and the edges between them.
pub async fn graph(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Failure> {
    let limit = params.number("limit", DEFAULT_NODES, (1, MOST_NODES))?;
    let owner = caller.acting_for(&app, params.get("userId")).await?;
    let ShownGraph { graph, revision, is_outdated } = app.indexes.graph(&owner.id).await?;
    let view = match (params.get("around"), params.get("documentId")) {
        (Some(node), _) if graph.find(node).is_none() => {
            return Err(ApiError::not_found(format!("no node `{node}`")).into());
        }
        (Some(node), _) => graph.around(node, limit),
        (None, Some(document)) => graph.of_document(document, limit),
        (None, None) => graph.strongest(limit),
    };
    let documents = MOST_DOCUMENT_IDS / view.nodes.len().max(1);
    let nodes: Vec<Value> = view
        .nodes
        .iter()
        .map(|node| {
            json!({
                "id": node.id,
                "label": node.label,
                "type": node.kind.as_str(),
                "documentIds": node.documents.iter().take(documents).map(|id| &**id).collect::<Vec<&str>>(),
                "documentCount": node.documents.len(),
                "community": node.community,
                "strength": node.strength,
            })
        })
        .collect();
    let id_of = |place: u32| graph.nodes().get(place as usize).map(|node| node.id.as_str());
    let edges: Vec<Value> = view
        .edges
        .iter()
        .map(|edge| {
            json!({
                "source": id_of(edge.source),
                "target": id_of(edge.target),
                "type": "relates_to",
                "strength": edge.strength,
            })
        })
        .collect();
    let mut body = json!({ "nodes": nodes, "edges": edges });
    if is_outdated {
        body["outdated"] = true.into();
        body["notice"] = "documents have changed since this graph was built: a new one is being built".into();
    }
    Ok(([(REVISION, HeaderValue::from(revision))], Json(body)).into_response())
}
