//! `GET /api/graph`: the graph, or a part of it.

use super::App;
use super::caller::{Caller, ScopeQuery};
use super::error::LoadProgress;
use super::fields::NodeType;
use crate::indexes::ShownGraph;
use crate::search::chunk_id;
use crate::tables;
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use graph::{Edge, Graph, Node, View};
use http::{HeaderName, HeaderValue};
use kit::error::{ApiError, ErrorWith};
use kit::fields::Whole;
use kit::request::{Query, values_of};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use utoipa::{IntoParams, ToSchema};

/// Of all nodes together: a word that every document has would list them all.
const MOST_DOCUMENT_IDS: usize = 100_000;
const MOST_SOURCES: usize = 100;
const OUTDATED: &str = "documents have changed since this graph was built: a new one is being built";

/// Says which changes to the documents are in the graph. Not in the body, which depends on the documents alone.
const REVISION: HeaderName = HeaderName::from_static("x-graph-revision");

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct GraphQuery {
    /// The most nodes that are returned, the strongest first; 500 if absent.
    #[serde(default = "default_nodes")]
    #[param(inline)]
    limit: Whole<1, 10_000>,
    /// Only what this document names.
    document_id: Option<String>,
    /// Only the node with this id and its neighbours.
    #[param(example = "ada-solberg")]
    around: Option<String>,
}

fn default_nodes() -> Whole<1, 10_000> {
    Whole(500)
}

/// A name or concept of the documents.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Node)]
pub struct NodeView {
    /// Stays the same when documents are indexed again.
    #[schema(example = "ada-solberg")]
    id: String,
    #[schema(example = "Ada Solberg")]
    label: String,
    #[serde(rename = "type")]
    kind: NodeType,
    /// The documents that name it. If many do, only some: at most 100,000 in all nodes together.
    document_ids: Vec<String>,
    /// How many documents name it.
    #[schema(example = 1)]
    document_count: usize,
    /// Nodes of one community are closely connected.
    #[schema(example = 0)]
    community: u32,
    #[schema(example = 0.72)]
    strength: f64,
}

/// Two nodes that are named together.
#[derive(Serialize, ToSchema)]
#[schema(as = Edge)]
pub struct EdgeView {
    /// The id of a node.
    #[schema(example = "ada-solberg")]
    source: String,
    /// The id of a node.
    #[schema(example = "rotterdam")]
    target: String,
    #[serde(rename = "type")]
    /// `relates_to`, or the verb by which a model connects them, from the source to the target.
    #[schema(example = "relates_to")]
    kind: String,
    #[schema(example = 0.4, minimum = 0, maximum = 1)]
    strength: f64,
}

/// How many nodes and edges there are without `limit`. Of the edges of a node, only the strongest are returned.
#[derive(Serialize, ToSchema)]
pub struct GraphTotals {
    #[schema(example = 34)]
    nodes: usize,
    #[schema(example = 61)]
    edges: usize,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Graph)]
pub struct GraphView {
    nodes: Vec<NodeView>,
    edges: Vec<EdgeView>,
    totals: GraphTotals,
    /// True if documents have changed since, and a new graph is being built; absent if none have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    outdated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        example = "documents have changed since this graph was built: a new one is being built"
    )]
    notice: Option<&'static str>,
}

/// Returns what the documents name, and what is named together.
#[utoipa::path(get, path = "/api/graph", params(GraphQuery, ScopeQuery,
    ("sources" = Option<Vec<String>>, Query, description = "Only what these passages name: ids of search results or of \
        an answer's sources, each in a parameter of its own, at most 100.")), responses(
    (status = 200, description = "The strongest nodes, and the edges between them.", body = GraphView, headers(
        ("X-Graph-Revision" = i64, description = "Changes to the documents up to this revision are in the graph; the \
            ids of document events are revisions."),
    )),
    (status = 404, description = "`NOT_FOUND`: no node has the id `around`, no user the id `userId`, or the \
        user no space that `spaceId` names."),
    (status = 503, description = "`INDEX_LOADING`, `INDEX_UNAVAILABLE` or `STORAGE_UNAVAILABLE`: try again after \
        `Retry-After` seconds.", body = ErrorWith<LoadProgress>),
))]
pub async fn graph(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<GraphQuery>,
    scope: ScopeQuery,
    RawQuery(parameters): RawQuery,
) -> Result<Response, ApiError> {
    let limit = query.limit.size();
    let scope = scope.scope(&app, caller).await?;
    let sources = values_of(parameters.as_deref().unwrap_or_default(), "sources");
    if sources.len() > MOST_SOURCES {
        let message = format!("`sources` is given {} times: at most {MOST_SOURCES}", sources.len());
        return Err(ApiError::invalid(message));
    }
    let ShownGraph { graph, revision, is_outdated } = app.indexes.graph(&scope).await?;
    if let Some(node) = query.around.as_ref().filter(|node| graph.find(node).is_none()) {
        return Err(ApiError::not_found(format!("no node `{node}`")));
    }
    let verbs = tables::relations::verbs(&app.db, &scope).await?;
    // The passages of a large graph take too long for a thread that runs async tasks.
    let viewing = tokio::task::spawn_blocking(move || {
        let view = match (query.around, query.document_id) {
            _ if !sources.is_empty() => of_sources(&graph, &sources, limit),
            (Some(node), _) => graph.around(&node, limit),
            (None, Some(document)) => graph.of_document(&document, limit),
            (None, None) => graph.strongest(limit),
        };
        let documents = MOST_DOCUMENT_IDS / view.nodes.len().max(1);
        GraphView {
            nodes: view.nodes.iter().map(|node| node_view(node, documents)).collect(),
            edges: view.edges.iter().filter_map(|edge| edge_view(&graph, edge, &verbs)).collect(),
            totals: GraphTotals { nodes: view.total_nodes, edges: view.total_edges },
            outdated: is_outdated.then_some(true),
            notice: is_outdated.then_some(OUTDATED),
        }
    });
    let body = viewing.await.map_err(ApiError::internal)?;
    Ok(([(REVISION, HeaderValue::from(revision))], Json(body)).into_response())
}

/// Returns what the passages with these ids name.
fn of_sources<'g>(graph: &'g Graph, sources: &[String], limit: usize) -> View<'g> {
    let wanted: HashSet<&str> = sources.iter().map(String::as_str).collect();
    // Most passages name several things, and an id is a digest.
    let mut known: HashMap<String, HashMap<u32, bool>> = HashMap::new();
    let is_named = |document: &str, passage: u32| {
        if !known.contains_key(document) {
            known.insert(document.to_owned(), HashMap::new());
        }
        let passages = known.get_mut(document);
        let is_wanted = || wanted.contains(chunk_id(document, i64::from(passage)).as_str());
        passages.is_some_and(|passages| *passages.entry(passage).or_insert_with(is_wanted))
    };
    graph.of_passages(is_named, limit)
}

pub fn node_view(node: &Node, most_documents: usize) -> NodeView {
    NodeView {
        id: node.id.clone(),
        label: node.label.clone(),
        kind: node.kind.into(),
        document_ids: node.documents.iter().take(most_documents).map(|id| id.to_string()).collect(),
        document_count: node.documents.len(),
        community: node.community,
        strength: node.strength.into(),
    }
}

/// A verb goes from one node to the other, in either direction.
fn edge_view(graph: &Graph, edge: &Edge, verbs: &HashMap<(String, String), String>) -> Option<EdgeView> {
    let id_of = |index: u32| graph.nodes().get(index as usize).map(|node| node.id.clone());
    let ends = (id_of(edge.source)?, id_of(edge.target)?);
    let turned = (ends.1.clone(), ends.0.clone());
    let (ends, verb) = match (verbs.get(&ends), verbs.get(&turned)) {
        (None, Some(verb)) => (turned, Some(verb)),
        (verb, _) => (ends, verb),
    };
    let kind = verb.cloned().unwrap_or_else(|| "relates_to".to_owned());
    Some(EdgeView { source: ends.0, target: ends.1, kind, strength: edge.strength.into() })
}
