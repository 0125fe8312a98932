//! An axum router as a [`Handler`], as the services use it. Errors have the services' format.

use super::{Door, Handler, Refusal, RequestBody, RequestContext, Serving, serve, vary_by_origin};
use crate::error::ApiError;
use crate::unknown_fields::KnownFields;
use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use std::sync::Arc;
use tokio::net::TcpListener;

#[derive(Clone)]
pub struct AxumHandler {
    router: TowerToHyperService<Router>,
    door: Door,
    known: Arc<KnownFields>,
}

/// A layer of a router: forbids caching, since the content depends on a token or a session, unless the response says
/// otherwise.
pub async fn keep_private(mut response: Response<Body>) -> Response<Body> {
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(no_store);
    response
}

impl AxumHandler {
    /// Makes a handler of a router. It answers unknown paths and wrong methods in the services' error format, and gives
    /// every request its [`super::Arrival`] as an extension.
    pub fn new(router: Router, door: Door) -> Self {
        let router = router
            .fallback(async || ApiError::not_found("no such path"))
            .method_not_allowed_fallback(async || {
                let message = "this path does not take that method: the `Allow` header names those it takes";
                ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message)
            });
        Self { router: TowerToHyperService::new(router), door, known: Arc::default() }
    }

    /// Makes responses name the fields of a request that the service's OpenAPI document does not have.
    pub fn naming_unknown_fields(mut self, openapi: &Value) -> Self {
        self.known = Arc::new(KnownFields::of_openapi(openapi));
        self
    }
}

impl Handler for AxumHandler {
    type Body = Body;

    async fn handle(&self, mut request: Request<RequestBody>, context: &RequestContext) -> Response<Body> {
        // In HTTP/2 and in a target that is a whole address, the host is not in a header. By RFC 9112 it takes precedence.
        let authority = request.uri().authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
        if let Some(host) = authority {
            request.headers_mut().insert(header::HOST, host);
        }
        let arrival = self.door.admit(context.connection.peer.ip(), request.headers_mut());
        request.extensions_mut().insert(context.clone());
        request.extensions_mut().insert(arrival);
        let unknown = self.known.of_request(request.method(), request.uri());
        if let Some(unknown) = &unknown {
            request.extensions_mut().insert(unknown.clone());
        }
        let mut response = match self.router.call(request.map(Body::new)).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        if let Some(unknown) = unknown {
            unknown.mark(response.headers_mut());
        }
        vary_by_origin(response.headers_mut());
        response
    }

    fn refuse(&self, refusal: Refusal, _: &RequestContext) -> Response<Body> {
        ApiError::from(refusal).into_response()
    }

    fn serve(self, listener: TcpListener, serving: Arc<Serving>) -> BoxFuture<'static, ()> {
        Box::pin(serve(listener, self, serving))
    }
}
