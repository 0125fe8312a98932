//! `POST /api/leads` and `POST /api/leads/{form}`: a lead comes in, and is answered when it is committed.

use super::App;
use super::admin::LeadStatus;
use super::body::{self, Encoding};
use super::error::FieldError;
use super::{origin, page};
use crate::forms::{DEFAULT, Form};
use crate::intake::{self, Submission};
use crate::outbox::Accepted;
use crate::records::Status;
use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use kit::error::{ApiError, ErrorBody};
use kit::headers;
use kit::request::PathId;
use kit::serve::{Arrival, network};
use kit::unknown_fields::UnknownFields;
use std::net::IpAddr;
use std::time::Duration;
use store::rate;

const WINDOW: Duration = Duration::from_secs(60);
const LONGEST_KEY: usize = 255;

/// Takes a lead of the default form.
#[utoipa::path(post, path = "/api/leads", security(()),
    params(("Idempotency-Key" = Option<String>, Header, description = "The first answer is given again.")),
    request_body(content(
        (BTreeMap<String, Value> = "application/json"),
        (BTreeMap<String, Value> = "application/x-www-form-urlencoded"),
        (BTreeMap<String, Value> = "multipart/form-data"),
    )),
    responses(
        (status = 202, description = "The lead is kept, and will be forwarded.", body = LeadStatus),
        (status = 303, description = "The same for a browser, if the form says where it goes back to."),
        (status = 400, description = "`INVALID_REQUEST`: a field is wrong or missing. A browser gets errors as a page.",
            content((FieldError = "application/json"), (String = "text/html"))),
        (status = 403, description = "`FORBIDDEN`: the form does not take posts from pages of that origin.",
            content((ErrorBody = "application/json"), (String = "text/html"))),
        (status = 404, description = "`NOT_FOUND`: there is no such form.",
            content((ErrorBody = "application/json"), (String = "text/html"))),
        (status = 429, description = "`TOO_MANY_REQUESTS`: too many leads from one address.",
            content((ErrorBody = "application/json"), (String = "text/html"))),
    ))]
pub async fn to_default(State(app): State<App>, request: Request) -> Response {
    take(&app, DEFAULT, request).await
}

/// Takes a lead of a form.
#[utoipa::path(post, path = "/api/leads/{name}", security(()),
    params(
        ("name" = String, Path, description = "The form's name."),
        ("Idempotency-Key" = Option<String>, Header, description = "The first answer is given again."),
    ),
    request_body(content(
        (BTreeMap<String, Value> = "application/json"),
        (BTreeMap<String, Value> = "application/x-www-form-urlencoded"),
        (BTreeMap<String, Value> = "multipart/form-data"),
    )),
    responses(
        (status = 202, description = "The lead is kept, and will be forwarded.", body = LeadStatus),
        (status = 303, description = "The same for a browser, if the form says where it goes back to."),
        (status = 400, description = "`INVALID_REQUEST`: a field is wrong or missing. A browser gets errors as a page.",
            content((FieldError = "application/json"), (String = "text/html"))),
        (status = 403, description = "`FORBIDDEN`: the form does not take posts from pages of that origin.",
            content((ErrorBody = "application/json"), (String = "text/html"))),
        (status = 404, description = "`NOT_FOUND`: there is no such form.",
            content((ErrorBody = "application/json"), (String = "text/html"))),
        (status = 429, description = "`TOO_MANY_REQUESTS`: too many leads from one address.",
            content((ErrorBody = "application/json"), (String = "text/html"))),
    ))]
pub async fn to_form(State(app): State<App>, PathId(name): PathId, request: Request) -> Response {
    take(&app, &name, request).await
}

async fn take(app: &App, name: &str, request: Request) -> Response {
    let encoding = Encoding::of(&request);
    let asked = request.headers().clone();
    let is_read_by_people = encoding != Encoding::Json && is_browser(&asked);
    let shown = |fault: ApiError| match is_read_by_people {
        true => page::of(fault),
        false => fault.into_response(),
    };
    let form = origin::find(app, name).and_then(|form| origin::check(form, &asked).map(|()| form));
    let form = match form {
        Ok(form) => form,
        Err(fault) => return shown(fault),
    };
    let mut response = match accept(app, form, request, encoding).await {
        Ok(accepted) => answer(form, &accepted, is_read_by_people),
        // The page is to learn what is wrong, too.
        Err(fault) => shown(fault),
    };
    origin::open(form, &asked, &mut response);
    response
}

async fn accept(app: &App, form: &Form, request: Request, encoding: Encoding) -> Result<Accepted, ApiError> {
    let arrival = request.extensions().get::<Arrival>();
    let address = arrival.ok_or_else(|| ApiError::internal("a request that came in no way"))?.client;
    count(app, form, address).await?;
    let idempotency_key = idempotency_key(request.headers())?;
    let unknown = request.extensions().get::<UnknownFields>().cloned();
    let pairs = body::read(request, encoding).await?;
    if let Some(unknown) = unknown {
        intake::unknown_names(form, &pairs).for_each(|name| unknown.note(name));
    }
    let lead = intake::read(form, Submission { pairs, idempotency_key, address }, app.db.clock().now_ms())?;
    let accepted = app.outbox.accept(&lead).await?;
    let counted = if accepted.is_new { lead.status.as_str() } else { "duplicate" };
    metrics::counter!("leads_received_total", "form" => form.name.clone(), "status" => counted).increment(1);
    Ok(accepted)
}

fn answer(form: &Form, accepted: &Accepted, goes_back: bool) -> Response {
    if let Some(place) = form.return_to.as_deref().filter(|_| goes_back) {
        return (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response();
    }
    // The same for spam: its sender does not learn that it was recognised.
    let taken = LeadStatus { success: true, lead_id: accepted.id.clone(), status: Status::Queued };
    (StatusCode::ACCEPTED, Json(taken)).into_response()
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
