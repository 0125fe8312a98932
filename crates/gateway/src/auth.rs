//! `POST /auth/login`, `/auth/guest` and `/auth/refresh`: what the gateway answers itself.

use crate::body::GatewayBody;
use crate::error::{GatewayError, json_response};
use base::Clock;
use base::token::{Claims, Route, Tokens};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use kit::guests::{Guests, is_guest};
use kit::headers::{bearer, only};
use kit::json;
use kit::request::from_fields;
use kit::serve::RequestBody;
use kit::unknown_fields::UnknownFields;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use store::Db;
use store::admins::{Admins, is_username};
use store::throttle::{self, Attempt, Counted};
use tokio::time::Instant;
use utoipa::ToSchema;

/// Every failed login is answered this long after it came: it takes another time to read a record than to find none, and
/// the difference would tell which names exist.
const FAILURE_TAKES: Duration = Duration::from_millis(150);

/// The `projectId` of tokens that any client can get.
const GUEST: &str = "guest";

/// What the gateway answers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Login,
    Guest,
    Refresh,
}

/// Each endpoint with its path below `/auth`. All take POST alone.
pub const ENDPOINTS: [(&str, Endpoint); 3] =
    [("/login", Endpoint::Login), ("/guest", Endpoint::Guest), ("/refresh", Endpoint::Refresh)];

#[derive(Deserialize, ToSchema)]
pub struct Credentials {
    #[schema(min_length = 1, example = "admin")]
    username: String,
    #[schema(min_length = 1, example = "ghntnk-kvm8y2-w94edi-9d3ss7")]
    password: String,
}

/// An administrator who has signed in.
#[derive(Serialize, ToSchema)]
pub struct SignedIn {
    success: bool,
    /// A token with the scope `admin` for every route.
    #[schema(example = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJ…")]
    token: String,
    user: AdminView,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Administrator)]
pub struct AdminView {
    #[schema(example = "admin")]
    username: String,
    #[schema(example = "admin")]
    role: String,
}

/// A route that guests have tokens for.
#[derive(Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum GuestRoute {
    #[default]
    Build,
    Kv,
    Core,
}

impl From<GuestRoute> for Route {
    fn from(route: GuestRoute) -> Self {
        match route {
            GuestRoute::Build => Self::Build,
            GuestRoute::Kv => Self::Kv,
            GuestRoute::Core => Self::Core,
        }
    }
}

#[derive(Default, Deserialize, ToSchema)]
pub struct GuestRequest {
    /// `BUILD` if absent.
    #[serde(default)]
    route: GuestRoute,
}

#[derive(Serialize, ToSchema)]
pub struct GuestToken {
    success: bool,
    /// A token with the scope `guest` for one route.
    #[schema(example = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJ…")]
    token: String,
    route: GuestRoute,
}

/// A token that takes the place of an older one.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenewedToken {
    success: bool,
    /// A token with the claims of the old one.
    #[schema(example = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJ…")]
    token: String,
    /// Milliseconds since 1970.
    #[schema(example = 1_794_712_661_000_i64)]
    expires_at: i64,
}

pub struct Auth {
    pub tokens: Arc<Tokens>,
    pub token_ttl: Duration,
    pub environment: &'static str,
    pub guests: Guests,
    pub admins: Admins,
    pub db: Db,
    pub clock: Clock,
}

/// Signs an administrator in.
#[utoipa::path(post, path = "/auth/login", security(()), request_body = Credentials, responses(
    (status = 200, body = SignedIn),
    (status = 401, description = "`INVALID_CREDENTIALS`: unknown user or wrong password."),
    (status = 405, description = "`METHOD_NOT_ALLOWED`: this path takes POST only."),
    (status = 429, description = "`TOO_MANY_REQUESTS`: too many failed sign-ins; wait as long as `Retry-After` says."),
))]
pub async fn login(auth: &Auth, credentials: Credentials, client: IpAddr) -> Result<SignedIn, GatewayError> {
    let came = Instant::now();
    let Credentials { username, password } = credentials;
    for (name, value) in [("username", &username), ("password", &password)] {
        if value.is_empty() {
            return Err(invalid(format!("`{name}` is missing: a string that is not empty")));
        }
    }
    let attempt = auth.count_attempt(&username, client).await?;
    let found = match auth.admins.find(&username).await {
        Ok(found) => found,
        Err(error) => {
            attempt.forgive(&auth.db).await?;
            return Err(error.into());
        }
    };
    let Some(record) = found.filter(|record| record.accepts(&password)) else {
        tokio::time::sleep_until(came + FAILURE_TAKES).await;
        return Err(GatewayError::invalid_credentials());
    };
    attempt.forgive(&auth.db).await?;
    let token = auth.issue(&record.username, Route::Auth, "admin", Some(record.generation()))?;
    let user = AdminView { username: record.username, role: record.role };
    Ok(SignedIn { success: true, token, user })
}

/// Gives out a guest's token for one route.
#[utoipa::path(post, path = "/auth/guest", security(()), request_body = GuestRequest, responses(
    (status = 200, body = GuestToken),
    (status = 403, description = "`GUESTS_OFF`: the setting `GUESTS` is `off`."),
    (status = 405, description = "`METHOD_NOT_ALLOWED`: this path takes POST only."),
))]
pub async fn guest(auth: &Auth, request: GuestRequest) -> Result<GuestToken, GatewayError> {
    if auth.guests == Guests::Off {
        return Err(GatewayError::guests_off(Route::Auth));
    }
    let token = auth.issue(GUEST, request.route.into(), "guest", None)?;
    Ok(GuestToken { success: true, token, route: request.route })
}

/// Renews a token of `/auth/login` or `/auth/guest` that has not expired.
#[utoipa::path(post, path = "/auth/refresh", responses(
    (status = 200, body = RenewedToken),
    (status = 401, description = "`MISSING_TOKEN`: send the token as `Authorization: Bearer …`."),
    (status = 403, description = "`INVALID_TOKEN` or `GUESTS_OFF`: the token has expired, was not issued here, or its \
        session has ended, or the administrator was removed or has a new password."),
    (status = 405, description = "`METHOD_NOT_ALLOWED`: this path takes POST only."),
))]
pub async fn refresh(auth: &Auth, headers: &HeaderMap) -> Result<RenewedToken, GatewayError> {
    if !headers.contains_key(header::AUTHORIZATION) {
        return Err(GatewayError::missing_token(Route::Auth));
    }
    let token = only(headers, header::AUTHORIZATION).and(bearer(headers)).unwrap_or_default();
    let verified = auth.tokens.verify(token).map_err(|_| GatewayError::invalid_token(Route::Auth))?;
    if !auth.admins.admits(&verified).await? {
        return Err(GatewayError::revoked_token(Route::Auth));
    }
    let claims = &verified.claims;
    if auth.guests == Guests::Off && is_guest(claims) {
        return Err(GatewayError::guests_off(Route::Auth));
    }
    // Tokens of users and of single sign-on are renewed where their session is, which may have ended. An administrator's
    // token can be revoked by its generation: without it, a stolen one could be renewed for ever.
    let is_own = claims.issued_by == auth.tokens.issuer();
    let is_revocable = match is_guest(claims) {
        true => claims.project_id == GUEST && claims.has_scope("guest"),
        false => claims.generation.is_some(),
    };
    if !is_own || !is_revocable {
        return Err(GatewayError::invalid_token(Route::Auth));
    }
    let token = auth.sign(claims)?;
    let lasts = auth.token_ttl.as_secs() as i64;
    let expires_at = (auth.clock.now_ms().div_euclid(1000) + lasts) * 1000;
    Ok(RenewedToken { success: true, token, expires_at })
}

impl Auth {
    /// Answers a request below `/auth`; `rest` is the raw path after that.
    pub async fn answer(
        &self,
        rest: &str,
        request: Request<RequestBody>,
        client: IpAddr,
    ) -> Result<Response<GatewayBody>, GatewayError> {
        let endpoint = ENDPOINTS.iter().find(|(path, _)| *path == rest);
        let (_, endpoint) = endpoint.ok_or_else(GatewayError::not_found)?;
        if request.method() != Method::POST {
            return Err(GatewayError::method_not_allowed());
        }
        let (parts, body) = request.into_parts();
        let body = body.collect(json::MAX_BODY).await;
        let body = body.map_err(|fault| GatewayError::body(Route::Auth, fault))?;
        match endpoint {
            Endpoint::Login => {
                let credentials = read(&body, &parts)?;
                Ok(json_response(StatusCode::OK, &login(self, credentials, client).await?))
            }
            Endpoint::Guest => {
                let request = if body.is_empty() { GuestRequest::default() } else { read(&body, &parts)? };
                Ok(json_response(StatusCode::OK, &guest(self, request).await?))
            }
            Endpoint::Refresh => Ok(json_response(StatusCode::OK, &refresh(self, &parts.headers).await?)),
        }
    }

    fn issue(
        &self,
        project_id: &str,
        route: Route,
        scope: &str,
        generation: Option<String>,
    ) -> Result<String, GatewayError> {
        let claims = Claims {
            project_id: project_id.to_owned(),
            route,
            scopes: vec![scope.to_owned()],
            environment: self.environment.to_owned(),
            issued_by: self.tokens.issuer().to_owned(),
            username: None,
            generation,
            grant: None,
        };
        self.sign(&claims)
    }

    fn sign(&self, claims: &Claims) -> Result<String, GatewayError> {
        self.tokens.issue(claims, self.token_ttl).map_err(GatewayError::internal)
    }

    async fn count_attempt(&self, username: &str, client: IpAddr) -> Result<Attempt, GatewayError> {
        let name = is_username(username).then_some(username);
        match throttle::count(&self.db, "login", name, client).await? {
            Counted::Allowed(attempt) => Ok(attempt),
            Counted::RefusedUntil(time) => {
                let wait = time.saturating_sub(self.clock.now_ms()).max(0).unsigned_abs();
                Err(GatewayError::too_many_requests(Duration::from_millis(wait)))
            }
        }
    }
}

/// Reads a JSON object into `T`. Errors name the field.
fn read<T: DeserializeOwned>(body: &[u8], parts: &Parts) -> Result<T, GatewayError> {
    match json::parse(body).map_err(|fault| invalid(fault.to_string()))? {
        Value::Object(fields) => {
            UnknownFields::of_body(&parts.extensions, &fields);
            from_fields(Value::Object(fields)).map_err(|error| invalid(error.message))
        }
        _ => Err(invalid("the body is not a JSON object".to_owned())),
    }
}

fn invalid(message: String) -> GatewayError {
    GatewayError::invalid_request(Route::Auth, message)
}
