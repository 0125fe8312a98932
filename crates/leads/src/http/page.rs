//! What a browser shows where it has sent a form by itself and the form was not taken.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use kit::error::ApiError;
use kit::escape_html;

/// The fault with its status, for people.
pub fn of(fault: ApiError) -> Response {
    let said = escape_html(fault.message());
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Not sent</title>\n\
         <h1>The form was not sent</h1>\n<p>{said}</p>\n<p>Go back, and try again.</p>\n</html>\n"
    );
    let mut response = fault.into_response();
    *response.body_mut() = Body::from(page);
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
