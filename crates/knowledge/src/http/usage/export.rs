//! `GET /api/usage.csv`: each call of a model as a line, read and sent a page at a time.

use super::{CallsQuery, amount};
use crate::http::App;
use crate::http::caller::Caller;
use crate::usage::{CallFilter, CallRow};
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base::iso8601;
use futures_util::stream;
use http::{HeaderValue, header};
use kit::csv;
use kit::error::ApiError;
use kit::request::Query;
use store::StoreError;

const PAGE: i64 = 1_000;
const MAX_LINES: i64 = 1_000_000;
const COLUMNS: [&str; 11] = [
    "time",
    "user",
    "purpose",
    "space",
    "project",
    "connection",
    "model",
    "inputTokens",
    "outputTokens",
    "seconds",
    "cost",
];

/// Exports calls of models as CSV, the oldest first, at most 1,000,000.
#[utoipa::path(get, path = "/api/usage.csv", params(CallsQuery), responses(
    (status = 200, description = "A file with a line for each call. Who and what has no name any more has its id.",
        content_type = "text/csv", body = String),
))]
pub async fn export(
    State(app): State<App>,
    Caller(user): Caller,
    Query(calls): Query<CallsQuery>,
) -> Result<Response, ApiError> {
    let filter = calls.filter(&app, &user)?;
    app.usage.write().await?;
    let place = Place { app, filter, sent: 0, at: At::Head };
    let mut response = Body::from_stream(stream::try_unfold(place, next)).into_response();
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/csv; charset=utf-8; header=present");
    headers.insert(header::CONTENT_TYPE, kind);
    let name = HeaderValue::from_static("attachment; filename=\"usage.csv\"");
    headers.insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}

struct Place {
    app: App,
    filter: CallFilter,
    sent: i64,
    at: At,
}

enum At {
    Head,
    /// After the call with this time and id.
    After(Option<(i64, String)>),
    End,
}

async fn next(mut place: Place) -> Result<Option<(String, Place)>, StoreError> {
    let after = match &place.at {
        At::Head => {
            place.at = At::After(None);
            return Ok(Some((csv::row(COLUMNS.into_iter().map(str::to_owned)), place)));
        }
        At::After(after) => after.as_ref().map(|(time, id)| (*time, id.as_str())),
        At::End => return Ok(None),
    };
    let most = PAGE.min(MAX_LINES - place.sent);
    let calls = place.app.usage.page(&place.filter, after, most).await?;
    place.sent += calls.len() as i64;
    let lines: String = calls.iter().map(line).collect();
    place.at = match calls.last() {
        Some(last) if calls.len() as i64 == PAGE && place.sent < MAX_LINES => {
            At::After(Some((last.ended_at, last.id.clone())))
        }
        _ => At::End,
    };
    Ok(Some((lines, place)))
}

fn line(call: &CallRow) -> String {
    let cells = [
        iso8601(call.ended_at),
        call.user_id.clone(),
        call.purpose.clone(),
        call.space_id.clone(),
        call.project_id.clone(),
        call.connection.clone(),
        call.model.clone(),
        call.input_tokens.to_string(),
        call.output_tokens.to_string(),
        format!("{:.3}", call.milliseconds as f64 / 1000.0),
        format!("{:.6}", amount(call.cost)),
    ];
    csv::row(cells.into_iter())
}
