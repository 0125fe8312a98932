//! Single nodes of the graph: found by a person who types, and one with the passages that name it.

use super::App;
use super::caller::{Caller, ScopeQuery};
use super::error::LoadProgress;
use super::graph::{NodeView, node_view};
use crate::records::Scope;
use crate::search::chunk_id;
use crate::tables::{self, documents::Titled};
use axum::Json;
use axum::extract::State;
use graph::Node;
use kit::error::{ApiError, ErrorWith};
use kit::fields::Whole;
use kit::request::{PathId, Query};
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use std::cmp::Reverse;
use std::collections::HashMap;
use utoipa::{IntoParams, ToSchema};

/// Of all nodes of an answer together.
const MOST_DOCUMENT_IDS: usize = 10_000;
/// Documents that are listed with a node.
const MOST_DOCUMENTS: usize = 1_000;
/// In bytes.
const LONGEST_LABEL: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NodeSearchQuery {
    /// A part of the label, in any spelling.
    #[param(min_length = 1, example = "solb")]
    q: String,
    /// The most nodes that are returned; 20 if absent.
    #[serde(default = "default_nodes")]
    #[param(inline)]
    limit: Whole<1, 100>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NodeQuery {
    /// The most passages that are returned; 20 if absent.
    #[serde(default = "default_nodes")]
    #[param(inline)]
    limit: Whole<1, 100>,
    /// The `next` of the page before.
    #[param(value_type = Option<String>)]
    after: Option<PassageCursor>,
}

fn default_nodes() -> Whole<1, 100> {
    Whole(20)
}

/// The position of a passage among those of a node.
pub struct PassageCursor {
    document: String,
    passage: u32,
}

impl<'de> Deserialize<'de> for PassageCursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parts =
            text.split_once('.').and_then(|(number, document)| Some((number.parse().ok()?, document)));
        match parts {
            Some((passage, document)) => Ok(Self { document: document.to_owned(), passage }),
            None => Err(D::Error::invalid_value(Unexpected::Str(&text), &"the `next` of a page")),
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct FoundNodes {
    /// The best fit first.
    nodes: Vec<NodeView>,
}

/// A node, with what names it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeDetails {
    node: NodeView,
    /// The documents that name it, those with most passages first; at most 1000.
    documents: Vec<NodeDocument>,
    /// A page of the passages that name it, in the order of their documents.
    passages: Vec<NodePassage>,
    /// How many passages name it.
    #[schema(example = 3)]
    total_passages: usize,
    /// What `after` is for the next page; null at the end.
    #[schema(example = "4.0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    next: Option<String>,
}

/// A document that names a node.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeDocument {
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
    #[schema(example = "Pump manual")]
    title: String,
    /// How many of its passages do.
    #[schema(example = 3)]
    passages: usize,
    /// The space that it is in; null for a document of the user.
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6b")]
    space_id: Option<String>,
    #[schema(example = "Maintenance")]
    space_name: Option<String>,
}

/// A passage that names a node.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePassage {
    /// As search results have it.
    #[schema(example = "6f1d2c3b-4a59-8e7d-9c0b-1a2b3c4d5e6f")]
    id: String,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    document_id: String,
    #[schema(example = "Pump manual")]
    document_title: String,
    /// The number of the passage in its document, from 0.
    #[schema(example = 0)]
    chunk_index: i64,
    #[schema(example = "The pump P-204 circulates coolant.")]
    text: String,
    /// The page that it begins on, if the document has pages.
    #[schema(example = 3)]
    page: Option<i64>,
    /// The space that it is in; null for a document of the user.
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6b")]
    space_id: Option<String>,
    #[schema(example = "Maintenance")]
    space_name: Option<String>,
}

/// Finds nodes of the graph by a part of their label.
#[utoipa::path(get, path = "/api/graph/search", params(NodeSearchQuery, ScopeQuery), responses(
    (status = 200, body = FoundNodes),
    (status = 404, description = "`NOT_FOUND`: no user has the id `userId`, or the user no space that `spaceId` names."),
    (status = 503, description = "`INDEX_LOADING`, `INDEX_UNAVAILABLE` or `STORAGE_UNAVAILABLE`: try again after \
        `Retry-After` seconds.", body = ErrorWith<LoadProgress>),
))]
pub async fn search(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<NodeSearchQuery>,
    scope: ScopeQuery,
) -> Result<Json<FoundNodes>, ApiError> {
    if query.q.trim().is_empty() || query.q.len() > LONGEST_LABEL {
        return Err(ApiError::invalid("`q` is missing: a part of a label, at most 1000 bytes"));
    }
    let scope = scope.scope(&app, caller).await?;
    let graph = app.indexes.graph(&scope).await?.graph;
    let searching = tokio::task::spawn_blocking(move || {
        let found = graph.search(&query.q, query.limit.size());
        let most_documents = MOST_DOCUMENT_IDS / found.len().max(1);
        FoundNodes { nodes: found.into_iter().map(|node| node_view(node, most_documents)).collect() }
    });
    Ok(Json(searching.await.map_err(ApiError::internal)?))
}

/// Returns a node of the graph, with the documents and passages that name it.
#[utoipa::path(get, path = "/api/graph/nodes/{id}", params(("id" = String, Path), NodeQuery, ScopeQuery), responses(
    (status = 200, body = NodeDetails),
    (status = 404, description = "`NOT_FOUND`: no node has this id, no user the id `userId`, or the user no space that \
        `spaceId` names."),
    (status = 503, description = "`INDEX_LOADING`, `INDEX_UNAVAILABLE` or `STORAGE_UNAVAILABLE`: try again after \
        `Retry-After` seconds.", body = ErrorWith<LoadProgress>),
))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
    Query(query): Query<NodeQuery>,
    scope: ScopeQuery,
) -> Result<Json<NodeDetails>, ApiError> {
    let scope = scope.scope(&app, caller).await?;
    let graph = app.indexes.graph(&scope).await?.graph;
    let node = graph.find(&id).ok_or_else(|| ApiError::not_found(format!("no node `{id}`")))?;
    let (page, next) = page_of(node, query.after.as_ref(), query.limit.size());
    Ok(Json(NodeDetails {
        node: node_view(node, MOST_DOCUMENT_IDS),
        documents: documents_of(&app, &scope, node).await?,
        passages: passages_of(&app, &scope, &page).await?,
        total_passages: node.passages.len(),
        next,
    }))
}

/// Returns the passages after a cursor, and the cursor of the next page.
fn page_of<'n>(
    node: &'n Node,
    after: Option<&PassageCursor>,
    limit: usize,
) -> (Vec<(&'n str, i64)>, Option<String>) {
    let is_after = |document: &str, passage: u32| {
        after.is_none_or(|after| (document, passage) > (after.document.as_str(), after.passage))
    };
    let rest = node.mentioned_in().filter(|(document, passage)| is_after(document, *passage));
    let mut page: Vec<(&str, i64)> =
        rest.take(limit + 1).map(|(document, passage)| (&**document, i64::from(passage))).collect();
    let has_more = page.len() > limit;
    page.truncate(limit);
    let next = page.last().filter(|_| has_more).map(|(document, passage)| format!("{passage}.{document}"));
    (page, next)
}

/// Documents that were removed since the graph was built are left out.
async fn documents_of(app: &App, scope: &Scope, node: &Node) -> Result<Vec<NodeDocument>, ApiError> {
    let mut counts = vec![0_usize; node.documents.len()];
    for (document, _) in &node.passages {
        counts[*document as usize] += 1;
    }
    let mut documents: Vec<(&str, usize)> =
        node.documents.iter().zip(counts).map(|(id, passages)| (&**id, passages)).collect();
    documents.sort_by_key(|(_, passages)| Reverse(*passages));
    documents.truncate(MOST_DOCUMENTS);
    let ids: Vec<&str> = documents.iter().map(|(id, _)| *id).collect();
    let mut titles = tables::documents::titles(&app.db, scope, &ids).await?;
    let documents = documents.into_iter().filter_map(|(id, passages)| {
        let Titled { title, owner_id } = titles.remove(id)?;
        let (space_id, space_name) = space_of(scope, owner_id);
        Some(NodeDocument { id: id.to_owned(), title, passages, space_id, space_name })
    });
    Ok(documents.collect())
}

async fn passages_of(app: &App, scope: &Scope, page: &[(&str, i64)]) -> Result<Vec<NodePassage>, ApiError> {
    let chunks = tables::chunks::find(&app.db, page).await?;
    let mut chunks: HashMap<(String, i64), tables::chunks::FoundChunk> =
        chunks.into_iter().map(|chunk| ((chunk.document_id.clone(), chunk.position), chunk)).collect();
    let passages = page.iter().filter_map(|(document, passage)| {
        let chunk = chunks.remove(&((*document).to_owned(), *passage))?;
        let (space_id, space_name) = space_of(scope, chunk.owner_id);
        Some(NodePassage {
            id: chunk_id(document, *passage),
            document_id: chunk.document_id,
            document_title: chunk.document_title,
            chunk_index: chunk.position,
            text: chunk.text,
            page: chunk.page,
            space_id,
            space_name,
        })
    });
    Ok(passages.collect())
}

/// Returns the id and the name of a space; none for a user.
fn space_of(scope: &Scope, owner_id: String) -> (Option<String>, Option<String>) {
    scope.space_name(&owner_id).map(str::to_owned).map(|name| (owner_id, name)).unzip()
}
