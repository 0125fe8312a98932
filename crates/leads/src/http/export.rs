//! `GET /api/leads/export`: leads as CSV, read and sent a page at a time.

use super::App;
use super::admin::{FilterQuery, fitting_page};
use super::caller::Admin;
use crate::csv::Table;
use crate::tables::leads::Filter;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::{HeaderValue, header};
use kit::error::ApiError;
use kit::request::Query;
use store::StoreError;

const PAGE: usize = 500;

struct Place {
    app: App,
    filter: Filter,
    table: Table,
    at: At,
}

enum At {
    Head,
    After(Option<String>),
    End,
}

/// Exports leads as CSV.
#[utoipa::path(get, path = "/api/leads/export", params(FilterQuery), responses(
    (status = 200, description = "A file with a column for every field.", content_type = "text/csv", body = String),
))]
pub async fn export(
    State(app): State<App>,
    _: Admin,
    Query(filter): Query<FilterQuery>,
) -> Result<Response, ApiError> {
    let filter = Filter::from(filter);
    let table = Table::new(&app.settings.forms, filter.form.as_deref());
    let place = Place { app, filter, table, at: At::Head };
    let mut response = (Body::from_stream(stream::try_unfold(place, next))).into_response();
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/csv; charset=utf-8; header=present");
    headers.insert(header::CONTENT_TYPE, kind);
    let name = HeaderValue::from_static("attachment; filename=\"leads.csv\"");
    headers.insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}

async fn next(mut place: Place) -> Result<Option<(String, Place)>, StoreError> {
    let before = match place.at {
        At::Head => {
            place.at = At::After(None);
            return Ok(Some((place.table.head(), place)));
        }
        At::After(before) => before,
        At::End => return Ok(None),
    };
    let (leads, has_more) = fitting_page(&place.app, &place.filter, before.as_deref(), PAGE).await?;
    let lines = leads.iter().map(|lead| place.table.line(lead)).collect();
    place.at = match leads.last() {
        Some(last) if has_more => At::After(Some(last.id.clone())),
        _ => At::End,
    };
    Ok(Some((lines, place)))
}
