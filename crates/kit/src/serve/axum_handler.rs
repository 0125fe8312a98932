//! An axum router as a [`Handler`]: the workers' way to be served. Errors come in the workers' shape.

use super::{Door, Handler, Refusal, RequestBody, RequestContext, vary_by_origin};
use crate::error::ApiError;
use crate::unknown_fields::KnownFields;
use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone)]
pub struct AxumHandler {
    router: TowerToHyperService<Router>,
    door: Door,
    known: Arc<KnownFields>,
}

/// As a layer of a router: what a token or a session shows is not for caches, unless an answer says otherwise.
pub async fn keep_private(mut response: Response<Body>) -> Response<Body> {
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(no_store);
    response
}

impl AxumHandler {
    /// Unknown paths and wrong methods are answered in the workers' error shape. Every request has its
    /// [`super::Arrival`] as an extension.
    pub fn new(router: Router, door: Door) -> Self {
        let router = router
            .fallback(async || ApiError::not_found("no such path"))
            .method_not_allowed_fallback(async || {
                let message = "this path does not take that method: the `Allow` header names those it takes";
                ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message)
            });
        Self { router: TowerToHyperService::new(router), door, known: Arc::default() }
    }

    /// Answers name what a request has that the service's OpenAPI document does not.
    pub fn naming_unknown_fields(mut self, openapi: &Value) -> Self {
        self.known = Arc::new(KnownFields::of_openapi(openapi));
        self
    }
}

impl Handler for AxumHandler {
    type Body = Body;

    async fn handle(&self, mut request: Request<RequestBody>, context: &RequestContext) -> Response<Body> {
        // HTTP/2 has the host in its own place, and so has a target that is a whole address: it counts, by RFC 9112.
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
}
