//! `/api/leads` and below: handed on to the leads service as it is, so that forms reach it through the gateway.

use super::App;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, StatusCode, header};
use kit::error::ApiError;
use kit::request::read_whole;
use kit::serve::RequestContext;

/// A form with a few texts; the leads service has a limit of its own.
const MOST_BYTES: usize = 2 << 20;
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// What is between two neighbours only, or made anew.
const HOP: [HeaderName; 6] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::CONTENT_LENGTH,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
];

pub async fn forward(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let Some(base) = &app.leads else {
        return Err(ApiError::not_found("no leads service is known: set LEADS_SERVICE_URL"));
    };
    let (parts, body) = request.into_parts();
    let body = read_whole(body, MOST_BYTES).await?;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut headers = without_hop(&parts.headers);
    if let Some(context) = parts.extensions.get::<RequestContext>() {
        headers.append(FORWARDED_FOR, context.connection.peer_ip.clone());
    }
    let sent =
        app.client.request(parts.method, format!("{base}{path}")).headers(headers).body(body).send().await;
    let answer = sent.map_err(|error| {
        tracing::warn!(error = %error.without_url(), "the leads service does not answer");
        ApiError::new(StatusCode::BAD_GATEWAY, "UPSTREAM_UNAVAILABLE", "the leads service does not answer")
    })?;
    let (status, headers) = (answer.status(), without_hop(answer.headers()));
    let mut response = (status, Body::from_stream(answer.bytes_stream())).into_response();
    *response.headers_mut() = headers;
    Ok(response)
}

fn without_hop(headers: &HeaderMap) -> HeaderMap {
    headers
        .iter()
        .filter(|(name, _)| !HOP.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
