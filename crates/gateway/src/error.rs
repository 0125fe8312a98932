//! The gateway's errors, and their record as the contract has it.

use crate::body::GatewayBody;
use base::token::Route;
use base::{Clock, iso8601};
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use kit::error::{STORAGE_FULL, STORAGE_UNAVAILABLE, STORAGE_WAIT};
use kit::guests::GUESTS_ARE_OFF;
use kit::openapi::ErrorExample;
use kit::serve::{BodyFault, Refusal, RequestId};
use serde::Serialize;
use std::borrow::Cow;
use std::time::Duration;
use store::admins::AdminsError;
use store::{Outage, StoreError};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

#[derive(Debug)]
pub struct GatewayError {
    pub route: Route,
    pub status: StatusCode,
    pub code: &'static str,
    pub message: Cow<'static, str>,
    pub header: Option<(HeaderName, HeaderValue)>,
}

/// The body of every error of the gateway.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Error)]
pub struct ErrorRecord<'a> {
    /// The route of the matched prefix; `AUTH` if the gateway itself answers.
    #[schema(schema_with = route_schema)]
    route: Route,
    #[schema(example = 401)]
    status: u16,
    /// What is wrong, for programs.
    #[schema(example = "MISSING_TOKEN")]
    code: Cow<'a, str>,
    /// What is wrong, for people.
    #[schema(example = "this route needs a token: send `Authorization: Bearer …`")]
    message: Cow<'a, str>,
    /// The same as the answer's `X-Request-Id`.
    #[schema(format = "uuid", example = "7763f400-a40e-45f4-a025-c4f4a4de12d6")]
    request_id: &'a str,
    #[schema(format = DateTime, example = "2026-11-15T04:32:52.384Z")]
    timestamp: &'a str,
}

fn route_schema() -> Object {
    let names = [Route::Auth, Route::Kv, Route::Build, Route::Core].map(Route::as_str);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).build()
}

impl GatewayError {
    fn new(
        route: Route,
        status: StatusCode,
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { route, status, code, message: message.into(), header: None }
    }

    pub fn invalid_request(route: Route, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(route, StatusCode::BAD_REQUEST, "INVALID_REQUEST", message)
    }

    pub fn invalid_credentials() -> Self {
        let message = "unknown user or wrong password";
        Self::new(Route::Auth, StatusCode::UNAUTHORIZED, "INVALID_CREDENTIALS", message)
    }

    pub fn missing_token(route: Route) -> Self {
        let message = "this route needs a token: send `Authorization: Bearer …`";
        Self::new(route, StatusCode::UNAUTHORIZED, "MISSING_TOKEN", message)
    }

    pub fn invalid_token(route: Route) -> Self {
        let message = "the token is invalid or has expired: get a new one from /auth/login or /auth/guest";
        Self::new(route, StatusCode::FORBIDDEN, "INVALID_TOKEN", message)
    }

    pub fn revoked_token(route: Route) -> Self {
        let message = "the session has ended, or the account was changed: sign in again";
        Self::new(route, StatusCode::FORBIDDEN, "INVALID_TOKEN", message)
    }

    pub fn session_token(route: Route) -> Self {
        let message = "this is a session token of the knowledge service: send it as `X-Api-Key`, since \
                       `Authorization` is for tokens from /auth/login and /auth/guest";
        Self::new(route, StatusCode::FORBIDDEN, "INVALID_TOKEN", message)
    }

    pub fn route_mismatch(route: Route, token_route: Route) -> Self {
        let message = format!("the token is for {}, not for {}", token_route.as_str(), route.as_str());
        Self::new(route, StatusCode::FORBIDDEN, "ROUTE_MISMATCH", message)
    }

    pub fn guests_off(route: Route) -> Self {
        Self::new(route, StatusCode::FORBIDDEN, "GUESTS_OFF", GUESTS_ARE_OFF)
    }

    pub fn not_found() -> Self {
        let message = "no such path: the gateway answers /auth/login, /auth/guest, /auth/refresh and what is \
                       under /build, /kv and /core";
        Self::new(Route::Auth, StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    pub fn method_not_allowed() -> Self {
        let message = "this path takes POST only";
        let error = Self::new(Route::Auth, StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message);
        Self { header: Some((header::ALLOW, HeaderValue::from_static("POST"))), ..error }
    }

    pub fn too_many_requests(retry_after: Duration) -> Self {
        let seconds = retry_after.as_millis().div_ceil(1000).max(1) as u64;
        let message = "too many failed sign-ins: wait as long as `Retry-After` says";
        let error = Self::new(Route::Auth, StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS", message);
        Self { header: Some((header::RETRY_AFTER, HeaderValue::from(seconds))), ..error }
    }

    pub fn missing_target(route: Route) -> Self {
        let message = format!("{}_SERVICE_URL is not set, so nothing is behind this path", route.as_str());
        Self::new(route, StatusCode::BAD_GATEWAY, "MISSING_TARGET", message)
    }

    pub fn upstream_unavailable(route: Route) -> Self {
        let message = "the service behind this path cannot be reached or broke off before it answered";
        Self::new(route, StatusCode::BAD_GATEWAY, "UPSTREAM_UNAVAILABLE", message)
    }

    pub fn upstream_timeout(route: Route) -> Self {
        let message = "the service behind this path did not answer in time";
        Self::new(route, StatusCode::GATEWAY_TIMEOUT, "UPSTREAM_TIMEOUT", message)
    }

    /// Logs the cause and keeps it from the client.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "a request failed");
        let message = "something went wrong inside: the log has it under this `requestId`";
        Self::new(Route::Auth, StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", message)
    }

    /// Logs the cause and keeps it from the client.
    fn storage(outage: Option<Outage>, cause: impl std::fmt::Display) -> Self {
        let (status, code, message) = match outage {
            None => return Self::internal(cause),
            Some(Outage::Full) => (StatusCode::INSUFFICIENT_STORAGE, "INSUFFICIENT_STORAGE", STORAGE_FULL),
            Some(Outage::Away) => {
                (StatusCode::SERVICE_UNAVAILABLE, "STORAGE_UNAVAILABLE", STORAGE_UNAVAILABLE)
            }
        };
        tracing::error!(%cause, "the storage failed");
        let wait = (header::RETRY_AFTER, HeaderValue::from(STORAGE_WAIT.as_secs()));
        let header = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(wait);
        Self { header, ..Self::new(Route::Auth, status, code, message) }
    }

    pub fn body(route: Route, fault: BodyFault) -> Self {
        let (status, code) = match fault {
            BodyFault::TooSlow => (StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT"),
            BodyFault::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE"),
            BodyFault::Broken => (StatusCode::BAD_REQUEST, "INVALID_REQUEST"),
        };
        Self::new(route, status, code, fault.to_string())
    }

    pub fn into_response(self, request_id: &RequestId, clock: &Clock) -> Response<GatewayBody> {
        let record = ErrorRecord {
            route: self.route,
            status: self.status.as_u16(),
            code: self.code.into(),
            message: self.message,
            request_id: request_id.as_str(),
            timestamp: &iso8601(clock.now_ms()),
        };
        let mut response = json_response(self.status, &record);
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl ErrorExample for ErrorRecord<'static> {
    fn example(status: u16, code: &str, meaning: &str) -> Self {
        Self {
            route: Route::Build,
            status,
            code: code.to_owned().into(),
            message: meaning.to_owned().into(),
            request_id: "7763f400-a40e-45f4-a025-c4f4a4de12d6",
            timestamp: "2026-11-15T04:32:52.384Z",
        }
    }
}

impl From<StoreError> for GatewayError {
    fn from(error: StoreError) -> Self {
        Self::storage(error.outage(), error)
    }
}

impl From<AdminsError> for GatewayError {
    fn from(error: AdminsError) -> Self {
        Self::storage(error.outage(), error)
    }
}

impl From<Refusal> for GatewayError {
    fn from(refusal: Refusal) -> Self {
        let (status, code, message) = refusal.describe();
        Self::new(Route::Auth, status, code, message)
    }
}

/// Returns an answer of the gateway itself. It is for one caller, so no cache may keep it.
pub fn json_response(status: StatusCode, body: &impl Serialize) -> Response<GatewayBody> {
    let text = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(GatewayBody::own(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
