//! Whose pages may post to a form: ours, and those of the origins that the form names.
//!
//! No cookie counts here, so nobody can post in somebody's name. What is kept away is pages that have nothing to do with
//! the form, and that would fill it through the browsers of their visitors.

use super::App;
use crate::forms::{DEFAULT, Form};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use kit::error::ApiError;
use kit::headers;
use kit::request::PathId;

/// Fails where a page posts that may not. Whoever is no page says no origin.
pub fn check(form: &Form, headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let allowed = origin.to_str().is_ok_and(|origin| form.allows_origin(origin));
    if allowed || !headers::is_of_another_site(headers) {
        return Ok(());
    }
    Err(ApiError::forbidden("this form does not take posts from pages of that origin"))
}

/// Lets the page read the answer, where the form names its origin.
pub fn open(form: &Form, asked: &HeaderMap, response: &mut Response) {
    let headers = response.headers_mut();
    let Some(origin) = asked.get(header::ORIGIN) else { return };
    if !origin.to_str().is_ok_and(|origin| form.allows_origin(origin)) {
        return;
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    let readable = HeaderValue::from_static("x-request-id, x-unknown-fields, retry-after");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, readable);
}

/// Tells a browser whether a page may post to the default form.
#[utoipa::path(options, path = "/api/leads", security(()), responses(
    (status = 204, description = "The page may post."),
    (status = 403, description = "`FORBIDDEN`: the form does not take posts from pages of that origin."),
    (status = 404, description = "`NOT_FOUND`: there is no such form."),
))]
pub async fn preflight_default(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    answer(&app, DEFAULT, &headers)
}

/// Tells a browser whether a page may post to a form.
#[utoipa::path(options, path = "/api/leads/{name}", security(()), params(("name" = String, Path)), responses(
    (status = 204, description = "The page may post."),
    (status = 403, description = "`FORBIDDEN`: the form does not take posts from pages of that origin."),
    (status = 404, description = "`NOT_FOUND`: there is no such form."),
))]
pub async fn preflight(
    State(app): State<App>,
    PathId(name): PathId,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    answer(&app, &name, &headers)
}

fn answer(app: &App, name: &str, headers: &HeaderMap) -> Result<Response, ApiError> {
    let form = find(app, name)?;
    check(form, headers)?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    open(form, headers, &mut response);
    let allow = response.headers_mut();
    allow.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    let names = HeaderValue::from_static("content-type, idempotency-key");
    allow.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
    allow.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    Ok(response)
}

pub fn find<'a>(app: &'a App, name: &str) -> Result<&'a Form, ApiError> {
    app.settings.forms.get(name).ok_or_else(|| ApiError::not_found("no such form"))
}
