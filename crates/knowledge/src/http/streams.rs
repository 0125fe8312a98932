//! Ends event streams soon after the session, token or administrator that opened them is no longer valid.

use super::App;
use super::caller::{API_KEY, COOKIE, Credential, find, of_session};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderName, header};
use kit::headers::{IDENTITY, cookie};
use kit::sse;
use std::time::Duration;

const CHECK: Duration = Duration::from_secs(2);

pub async fn end_with_caller(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut headers = HeaderMap::new();
    for name in [header::AUTHORIZATION, header::COOKIE, IDENTITY, HeaderName::from_static(API_KEY)] {
        for value in request.headers().get_all(&name) {
            headers.append(&name, value.clone());
        }
    }
    let response = next.run(request).await;
    sse::end_when(response, until_refused(app, headers))
}

async fn until_refused(app: App, headers: HeaderMap) {
    loop {
        match find(&app, &headers, cookie(&headers, COOKIE)).await {
            Ok(Some((_, Credential::Identity(verified)))) => {
                return app.admins.clone().until_refused(verified).await;
            }
            Ok(Some((_, Credential::Header(token) | Credential::Cookie(token)))) => {
                return until_signed_out(&app, &token).await;
            }
            Ok(None) => return,
            // A database that does not answer does not end a session.
            Err(_) => tokio::time::sleep(CHECK).await,
        }
    }
}

async fn until_signed_out(app: &App, token: &str) {
    while !matches!(of_session(app, token).await, Ok(None)) {
        tokio::time::sleep(CHECK).await;
    }
}
