//! `POST /api/leads` and `POST /api/leads/{form}`: a lead comes in, and is answered when it is committed.

use super::App;
use super::body::{self, Encoding};
use super::origin;
use crate::forms::{DEFAULT, Form};
use crate::intake::{self, Submission};
use crate::records::Status;
use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use kit::error::ApiError;
use kit::headers;
use kit::request::PathId;
use kit::serve::RequestContext;
use serde_json::json;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;
use store::rate;

const WINDOW: Duration = Duration::from_secs(60);
const LONGEST_KEY: usize = 255;

pub async fn to_default(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    take(&app, DEFAULT, request).await
}

pub async fn to_form(
    State(app): State<App>,
    PathId(name): PathId,
    request: Request,
) -> Result<Response, ApiError> {
    take(&app, &name, request).await
}

async fn take(app: &App, name: &str, request: Request) -> Result<Response, ApiError> {
    let form = origin::find(app, name)?;
    let asked = request.headers().clone();
    origin::check(form, &asked)?;
    // The page is to learn what is wrong, too.
    let mut response = accept(app, form, request).await.unwrap_or_else(IntoResponse::into_response);
    origin::open(form, &asked, &mut response);
    Ok(response)
}

async fn accept(app: &App, form: &Form, request: Request) -> Result<Response, ApiError> {
    let context = request.extensions().get::<RequestContext>();
    let address = context
        .map(|context| app.settings.trusted_proxies.client(&context.connection, request.headers()))
        .ok_or_else(|| ApiError::internal("a request without its context"))?;
    count(app, form, address).await?;
    let idempotency_key = idempotency_key(request.headers())?;
    let encoding = Encoding::of(&request);
    let goes_back = encoding != Encoding::Json && is_browser(request.headers());
    let pairs = body::read(request, encoding).await?;
    let lead = intake::read(form, Submission { pairs, idempotency_key, address }, app.db.clock().now_ms())?;
    let accepted = app.outbox.accept(&lead).await?;
    let counted = if accepted.is_new { lead.status.as_str() } else { "duplicate" };
    metrics::counter!("leads_received_total", "form" => form.name.clone(), "status" => counted).increment(1);
    if let Some(place) = form.return_to.as_deref().filter(|_| goes_back) {
        let place = HeaderValue::from_str(place).map_err(ApiError::internal)?;
        return Ok((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response());
    }
    // The same for spam: whoever sends it is not told.
    let told = json!({ "success": true, "leadId": accepted.id, "status": Status::Queued.as_str() });
    Ok((StatusCode::ACCEPTED, Json(told)).into_response())
}

async fn count(app: &App, form: &Form, address: IpAddr) -> Result<(), ApiError> {
    let most = i64::from(app.settings.per_minute);
    let key = format!("leads:{}:{}", form.name, network(address));
    let hit = rate::hit(&app.db, &key, most, WINDOW).await?;
    if hit.allowed {
        return Ok(());
    }
    let wait = hit.reset_at_ms.saturating_sub(app.db.clock().now_ms()).max(0).unsigned_abs();
    let message = format!("at most {most} leads a minute from one address: try again later");
    Err(ApiError::too_many_requests(message, Duration::from_millis(wait)))
}

/// Of the newer kind, whoever has one address has all of its network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(ip) => {
            let [a, b, c, d, ..] = ip.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 => v4,
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().map(str::trim).filter(|key| (1..=LONGEST_KEY).contains(&key.len()));
    let wrong = || ApiError::invalid(format!("`Idempotency-Key` is not a text of 1 to {LONGEST_KEY} signs"));
    key.map(|key| Some(key.to_owned())).ok_or_else(wrong)
}

/// A page shows the answer to whoever reads it, as opposed to a script.
fn is_browser(headers: &HeaderMap) -> bool {
    headers::text(headers, header::ACCEPT).is_some_and(|accept| accept.contains("text/html"))
}
