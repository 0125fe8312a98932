//! `GET /api/sources/{id}/items`: what became of each thing in a place.

use super::find;
use crate::http::App;
use crate::http::caller::{Access, Caller};
use crate::records::{ItemStatus, SourceItem};
use crate::tables;
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use kit::fields::Whole;
use kit::request::{PathId, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ItemsQuery {
    /// Only items with this status.
    #[param(inline)]
    status: Option<ItemStatus>,
    /// The `next` of the page before.
    after: Option<String>,
    /// The most items that are listed; 100 if absent.
    #[serde(default = "default_limit")]
    #[param(inline)]
    limit: Whole<1, 1_000>,
}

fn default_limit() -> Whole<1, 1_000> {
    Whole(100)
}

/// An item of a source.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SourceItem)]
pub struct ItemView {
    /// Names it in its place.
    #[schema(example = "pumps/p-204.pdf")]
    path: String,
    status: ItemStatus,
    /// Why it was skipped or could not be read, or which document has the same content; absent if there is nothing to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "the server answers 404")]
    message: Option<String>,
    /// Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    document_id: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct ItemList {
    /// By path.
    items: Vec<ItemView>,
    /// What `after` is for the next page; null at the end.
    next: Option<String>,
}

/// Lists the items of a source.
#[utoipa::path(get, path = "/api/sources/{id}/items", params(("id" = String, Path), ItemsQuery), responses(
    (status = 200, body = ItemList),
    (status = 404, description = "`NOT_FOUND`: the caller has no source with this id."),
))]
pub async fn list(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    Query(query): Query<ItemsQuery>,
) -> Result<Json<ItemList>, ApiError> {
    find(&app, &user, &id, Access::Read).await?;
    let (after, limit) = (query.after.unwrap_or_default(), query.limit.size());
    let mut items = tables::source_items::page(&app.db, &id, query.status, &after, limit as i64 + 1).await?;
    let has_more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| has_more).map(|last| last.path.clone());
    Ok(Json(ItemList { items: items.into_iter().map(ItemView::from).collect(), next }))
}

impl From<SourceItem> for ItemView {
    fn from(item: SourceItem) -> Self {
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        Self {
            path: item.path,
            status: item.status,
            message: given(item.message),
            document_id: given(item.document_id),
        }
    }
}
