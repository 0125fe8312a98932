//! Stoa's gateway: it answers `/auth` itself and forwards what is under `/build`, `/kv` and `/core`.
//!
//! Order of checks: prefix (404), path (400), token (401, 403), target (502). It is the only part that verifies
//! tokens from outside; a signed identity tells the targets who calls.

mod affinity;
mod auth;
mod bearer;
mod body;
mod cors;
mod error;
mod forward;
mod openapi;
mod path;
mod proxy;
mod tunnel;
mod upstream;

pub use cors::Cors;
pub use upstream::TargetUrl;

use affinity::Affinity;
use auth::Auth;
use base::Clock;
use base::token::{Route, Tokens};
use bearer::Bearers;
use body::GatewayBody;
use error::GatewayError;
use forward::Introduction;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use kit::guests::Guests;
use kit::headers::text;
use kit::serve::{Drain, Handler, Refusal, RequestBody, RequestContext, Serving, TrustedProxies, serve};
use kit::unknown_fields::KnownFields;
use path::Matched;
use proxy::Proxy;
use std::sync::Arc;
use std::time::Duration;
use store::Db;
use store::admins::Admins;
use tokio::net::TcpListener;
use upstream::Upstreams;

/// Returns the gateway's interface, as OpenAPI.
pub fn openapi() -> String {
    openapi::document().to_string()
}

pub struct GatewaySettings {
    pub build_targets: Vec<TargetUrl>,
    pub kv_targets: Vec<TargetUrl>,
    pub core_targets: Vec<TargetUrl>,
    pub token_ttl: Duration,
    pub environment: &'static str,
    pub guests: Guests,
    pub upstream_timeout: Duration,
    pub trusted_proxies: TrustedProxies,
    pub cors: Cors,
}

#[derive(Clone)]
pub struct Gateway {
    inner: Arc<Inner>,
}

struct Inner {
    auth: Auth,
    bearers: Bearers,
    proxies: [Proxy; 3],
    known_fields: KnownFields,
    trusted_proxies: TrustedProxies,
    cors: Cors,
    clock: Clock,
}

impl Gateway {
    pub fn new(
        settings: GatewaySettings,
        tokens: Arc<Tokens>,
        db: Db,
        admins: Admins,
        clock: Clock,
        drain: Drain,
    ) -> Self {
        let proxy = |route, targets| Proxy {
            route,
            upstreams: Upstreams::new(targets, clock.clone()),
            timeout: settings.upstream_timeout,
            drain: drain.clone(),
        };
        let proxies = [
            proxy(Route::Build, settings.build_targets),
            proxy(Route::Kv, settings.kv_targets),
            proxy(Route::Core, settings.core_targets),
        ];
        let auth = Auth {
            tokens: tokens.clone(),
            token_ttl: settings.token_ttl,
            environment: settings.environment,
            admins,
            guests: settings.guests,
            db,
            clock: clock.clone(),
        };
        let inner = Inner {
            auth,
            bearers: Bearers::new(tokens, settings.guests, clock.clone()),
            proxies,
            known_fields: KnownFields::of_openapi(&openapi::document()),
            trusted_proxies: settings.trusted_proxies,
            cors: settings.cors,
            clock,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Closes connections to targets that have been idle for too long. Never returns.
    pub async fn close_old_connections(self) {
        let mut every = tokio::time::interval(Duration::from_secs(10));
        loop {
            every.tick().await;
            let targets = self.inner.proxies.iter().flat_map(|proxy| proxy.upstreams.targets());
            targets.for_each(|target| target.close_old_connections());
        }
    }
}

impl Inner {
    async fn answer(
        &self,
        request: Request<RequestBody>,
        context: &RequestContext,
    ) -> Result<Response<GatewayBody>, GatewayError> {
        // A clone shares the text; the request itself is changed below.
        let uri = request.uri().clone();
        let (route, rest) = match path::match_route(uri.path()) {
            Matched::Nothing => return Err(GatewayError::not_found()),
            Matched::Escaping(route) => {
                return Err(GatewayError::invalid_request(route, "the path leads out of its prefix"));
            }
            Matched::Auth(rest) => {
                // Boxed: its future is large, and the future of every proxied request would be as large.
                return Ok(Box::pin(self.answer_auth(rest, request, context)).await);
            }
            Matched::Proxied(route, _) if request.method() == Method::CONNECT => {
                return Err(GatewayError::invalid_request(route, "CONNECT is not forwarded"));
            }
            Matched::Proxied(route, rest) => (route, rest),
        };
        if let Some(redirect) = page_redirect(route, &request) {
            return Ok(redirect);
        }
        let caller = self.bearers.authorize(request.headers(), route)?;
        if let Some(caller) = &caller
            && !self.auth.admins.admits(&caller.verified).await?
        {
            return Err(GatewayError::revoked_token(route));
        }
        let prefix = path::prefix_of(route);
        let forwarded = forward::forwarded(&request, prefix, &context.connection, &self.trusted_proxies);
        let prefix = forwarded.prefix.clone();
        let vouched =
            context.connection.signed_forwarded.get(forwarded, &self.auth.tokens, self.clock.now_ms());
        let introduction = Introduction {
            route,
            identity: caller.as_ref().map(|caller| &caller.identity),
            prefix: &prefix,
            vouched: vouched.as_ref(),
            request_id: &context.request_id,
            connection: &context.connection,
            trusted: &self.trusted_proxies,
            upgrade: None,
        };
        let user = caller.as_ref().map(|caller| caller.verified.claims.project_id.as_str());
        let affinity = Affinity::of(route, request.headers(), user);
        self.proxy(route)?.forward(request, rest, introduction, affinity).await
    }

    async fn answer_auth(
        &self,
        rest: &str,
        mut request: Request<RequestBody>,
        context: &RequestContext,
    ) -> Response<GatewayBody> {
        let client = self.trusted_proxies.client(context.connection.peer.ip(), request.headers());
        let unknown = self.known_fields.of_request(request.method(), request.uri());
        if let Some(unknown) = &unknown {
            request.extensions_mut().insert(unknown.clone());
        }
        let answer = self.auth.answer(rest, request, client).await;
        let mut response =
            answer.unwrap_or_else(|error| error.into_response(&context.request_id, &self.clock));
        if let Some(unknown) = unknown {
            unknown.mark(response.headers_mut());
        }
        response
    }

    fn proxy(&self, route: Route) -> Result<&Proxy, GatewayError> {
        self.proxies.iter().find(|proxy| proxy.route == route).ok_or(GatewayError::not_found())
    }
}

/// Returns the redirect of a browser that opens the page as `/kv`, without the last `/`: its addresses are relative. Other
/// callers of `/kv` get `/` of the target, as the contract says.
fn page_redirect<B>(route: Route, request: &Request<B>) -> Option<Response<GatewayBody>> {
    let (uri, headers) = (request.uri(), request.headers());
    let is_bare = route == Route::Kv && !uri.path().trim_start_matches('/').contains('/');
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let wants_page = text(headers, header::ACCEPT).is_some_and(|accept| accept.contains("text/html"));
    if !(is_bare && is_read && wants_page) {
        return None;
    }
    // Relative, so that it is also right behind a proxy that has added a prefix.
    let location = uri.query().map_or("kv/".to_owned(), |query| format!("kv/?{query}"));
    let mut response = Response::new(GatewayBody::own(""));
    *response.status_mut() = StatusCode::FOUND;
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::try_from(location).ok()?);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    Some(response)
}

impl Handler for Gateway {
    type Body = GatewayBody;

    async fn handle(&self, request: Request<RequestBody>, context: &RequestContext) -> Response<GatewayBody> {
        let inner = &self.inner;
        let origin = inner.cors.allowed(request.headers());
        let mut response = if origin.is_some() && Cors::is_preflight(&request) {
            Cors::preflight(&request)
        } else {
            let answer = inner.answer(request, context).await;
            answer.unwrap_or_else(|error| error.into_response(&context.request_id, &inner.clock))
        };
        inner.cors.open(&mut response, origin);
        response
    }

    fn refuse(&self, refusal: Refusal, context: &RequestContext) -> Response<GatewayBody> {
        GatewayError::from(refusal).into_response(&context.request_id, &self.inner.clock)
    }

    fn serve(self, listener: TcpListener, serving: Arc<Serving>) -> BoxFuture<'static, ()> {
        Box::pin(serve(listener, self, serving))
    }
}
