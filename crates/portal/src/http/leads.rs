//! `/api/leads` and below: handed on to the leads service unchanged, so that forms reach it through the gateway.

use super::App;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, StatusCode, header};
use kit::error::ApiError;
use kit::request::read_whole;
use kit::serve::{Arrival, VOUCHED, forwarded, sign_forwarded};

/// The longest body. The leads service has a lower limit of its own.
const MOST_BYTES: usize = 2 << 20;
/// Headers that concern one connection only, or are made anew.
const HOP_BY_HOP: [HeaderName; 8] = [
    HeaderName::from_static("keep-alive"),
    header::EXPECT,
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::CONTENT_LENGTH,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
];

/// Hands a request on to the leads service.
#[utoipa::path(method(get, post, options), path = "/api/leads", security((), ("bearer" = [])),
    responses(
        (status = "default", description = "The answer of the leads service."),
        (status = 404, description = "`NOT_FOUND`: the portal knows no leads service."),
        (status = 502, description = "`UPSTREAM_UNAVAILABLE`: the leads service does not answer."),
        (status = 504, description = "`UPSTREAM_TIMEOUT`: the leads service does not answer in time."),
    ))]
pub async fn forward(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let body = read_whole(body, MOST_BYTES).await?;
    check_path(parts.uri.path())?;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut headers = without_hop_by_hop(&parts.headers);
    let arrival = parts.extensions.get::<Arrival>();
    let client = arrival.map(|arrival| forwarded(arrival.client, &parts.headers));
    if let Some(signed) = client.and_then(|client| sign_forwarded(&client, &app.tokens)) {
        headers.insert(VOUCHED, signed);
    }
    let mut error = ApiError::not_found("no leads service is known: set LEADS_SERVICE_URL");
    for base in &app.leads {
        let request = app.client.request(parts.method.clone(), format!("{base}{path}"));
        match request.headers(headers.clone()).body(body.clone()).send().await {
            Ok(answer) => return Ok(hand_back(answer)),
            // A request that may have arrived is not sent a second time.
            Err(failure) if !failure.is_connect() => return Err(unanswered(failure)),
            Err(failure) => error = unanswered(failure),
        }
    }
    Err(error)
}

/// Hands a request on to a path of the leads service.
#[utoipa::path(method(get, post, delete, options), path = "/api/leads/{*rest}", security((), ("bearer" = [])),
    params(("rest" = String, Path, description = "The rest of the path, which may have slashes.")),
    responses(
        (status = "default", description = "The answer of the leads service."),
        (status = 404, description = "`NOT_FOUND`: the portal knows no leads service."),
        (status = 502, description = "`UPSTREAM_UNAVAILABLE`: the leads service does not answer."),
        (status = 504, description = "`UPSTREAM_TIMEOUT`: the leads service does not answer in time."),
    ))]
pub async fn forward_below(app: State<App>, request: Request) -> Result<Response, ApiError> {
    forward(app, request).await
}

fn hand_back(answer: reqwest::Response) -> Response {
    let (status, headers) = (answer.status(), without_hop_by_hop(answer.headers()));
    let mut response = (status, Body::from_stream(answer.bytes_stream())).into_response();
    *response.headers_mut() = headers;
    response
}

fn unanswered(error: reqwest::Error) -> ApiError {
    let (status, code) = match error.is_timeout() {
        true => (StatusCode::GATEWAY_TIMEOUT, "UPSTREAM_TIMEOUT"),
        false => (StatusCode::BAD_GATEWAY, "UPSTREAM_UNAVAILABLE"),
    };
    tracing::warn!(error = %error.without_url(), "the leads service does not answer");
    ApiError::new(status, code, "the leads service does not answer")
}

/// Fails if the path leads out of `/api/leads`, however that is written.
fn check_path(path: &str) -> Result<(), ApiError> {
    let plain = path.to_ascii_lowercase().replace("%2e", ".");
    let leaves = plain.split('/').any(|segment| segment == "." || segment == "..");
    match leaves || plain.contains("%2f") || plain.contains("%5c") || plain.contains('\\') {
        true => Err(ApiError::invalid("the path has segments that lead elsewhere")),
        false => Ok(()),
    }
}

/// Returns the headers without those that concern one connection only: the usual ones, and those that `Connection` names.
fn without_hop_by_hop(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let stays = |name: &HeaderName| {
        !HOP_BY_HOP.contains(name)
            && !name.as_str().starts_with("proxy-")
            && !named.iter().any(|own| own == name.as_str())
    };
    headers
        .iter()
        .filter(|(name, _)| stays(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
