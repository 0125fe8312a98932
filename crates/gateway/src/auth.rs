//! `POST /auth/login` and `POST /auth/guest`: what the gateway answers itself.

use crate::body::GatewayBody;
use crate::error::{GatewayError, json_response};
use base::Clock;
use base::token::{Claims, Route, Tokens};
use http::{Method, Request, Response, StatusCode};
use kit::guests::Guests;
use kit::json;
use kit::serve::RequestBody;
use kit::unknown_fields::UnknownFields;
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use store::Db;
use store::admins::{AdminRecord, Admins, is_username};
use store::throttle::{self, Attempt, Counted};
use tokio::time::Instant;

/// Every failed login is answered this long after it came: reading a record or finding none takes its own time,
/// and the difference would tell which names exist.
const FAILURE_TAKES: Duration = Duration::from_millis(150);

type Fields = Map<String, Value>;

pub struct Auth {
    pub tokens: Arc<Tokens>,
    pub token_ttl: Duration,
    pub environment: &'static str,
    pub guests: Guests,
    pub admins: Admins,
    pub db: Db,
    pub clock: Clock,
}

impl Auth {
    /// `rest` is the raw path after `/auth`.
    pub async fn answer(
        &self,
        rest: &str,
        request: Request<RequestBody>,
        client: IpAddr,
    ) -> Result<Response<GatewayBody>, GatewayError> {
        let is_login = match rest {
            "/login" => true,
            "/guest" => false,
            _ => return Err(GatewayError::not_found()),
        };
        if request.method() != Method::POST {
            return Err(GatewayError::method_not_allowed());
        }
        let (parts, body) = request.into_parts();
        let body = body.collect(json::MAX_BODY).await;
        let body = body.map_err(|fault| GatewayError::body(Route::Auth, fault))?;
        let fields = if body.is_empty() && !is_login { Map::new() } else { parse(&body)? };
        UnknownFields::of_body(&parts.extensions, &fields);
        if is_login { self.login(&fields, client).await } else { self.guest(&fields) }
    }

    async fn login(&self, fields: &Fields, client: IpAddr) -> Result<Response<GatewayBody>, GatewayError> {
        let came = Instant::now();
        let (username, password) = (required(fields, "username")?, required(fields, "password")?);
        let attempt = self.count_attempt(username, client).await?;
        let found = match self.admins.find(username).await {
            Ok(found) => found,
            Err(error) => {
                self.forgive(attempt).await?;
                return Err(error.into());
            }
        };
        match found.filter(|record| record.accepts(password)) {
            Some(record) => {
                self.forgive(attempt).await?;
                self.welcome(&record)
            }
            None => {
                tokio::time::sleep_until(came + FAILURE_TAKES).await;
                Err(GatewayError::invalid_credentials())
            }
        }
    }

    fn welcome(&self, record: &AdminRecord) -> Result<Response<GatewayBody>, GatewayError> {
        let token = self.issue(&record.username, Route::Auth, "admin", Some(record.generation()))?;
        let user = json!({ "username": record.username, "role": record.role });
        Ok(json_response(StatusCode::OK, &json!({ "success": true, "token": token, "user": user })))
    }

    fn guest(&self, fields: &Fields) -> Result<Response<GatewayBody>, GatewayError> {
        if self.guests == Guests::Off {
            return Err(GatewayError::guests_off(Route::Auth));
        }
        let route = guest_route(fields)?;
        let token = self.issue("guest", route, "guest", None)?;
        Ok(json_response(StatusCode::OK, &json!({ "success": true, "token": token, "route": route })))
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
            generation,
        };
        self.tokens.issue(&claims, self.token_ttl).map_err(GatewayError::internal)
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

    async fn forgive(&self, attempt: Attempt) -> Result<(), GatewayError> {
        Ok(attempt.forgive(&self.db).await?)
    }
}

fn parse(body: &[u8]) -> Result<Fields, GatewayError> {
    match json::parse(body).map_err(|fault| invalid(fault.to_string()))? {
        Value::Object(fields) => Ok(fields),
        _ => Err(invalid("the body is not a JSON object".to_owned())),
    }
}

fn required<'a>(fields: &'a Fields, name: &str) -> Result<&'a str, GatewayError> {
    match fields.get(name).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(invalid(format!("`{name}` is missing: a string that is not empty"))),
    }
}

fn guest_route(fields: &Fields) -> Result<Route, GatewayError> {
    match fields.get("route").map(|route| route.as_str().unwrap_or_default()) {
        None | Some("BUILD") => Ok(Route::Build),
        Some("KV") => Ok(Route::Kv),
        Some("CORE") => Ok(Route::Core),
        Some(_) => Err(invalid("unknown `route`: one of BUILD, KV, CORE".to_owned())),
    }
}

fn invalid(message: String) -> GatewayError {
    GatewayError::invalid_request(Route::Auth, message)
}
