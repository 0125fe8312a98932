//! One proxied exchange: finds a target, sends the request, streams the answer back.

use crate::affinity::Affinity;
use crate::body::GatewayBody;
use crate::error::GatewayError;
use crate::forward::{self, BodyFraming, Introduction, TargetPath};
use crate::tunnel::Upgrade;
use crate::upstream::{ExchangeError, Lease, ResponseHead, UpstreamBody, Upstreams};
use base::token::Route;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, header};
use http_body::Body;
use kit::serve::{Drain, RequestBody};
use std::time::Duration;

pub struct Proxy {
    pub route: Route,
    pub upstreams: Upstreams,
    /// The longest silence of a target, before its answer and within it.
    pub timeout: Duration,
    pub drain: Drain,
}

impl Proxy {
    /// Forwards a request; `path` is what follows the prefix, raw.
    pub async fn forward(
        &self,
        mut request: Request<RequestBody>,
        path: &str,
        mut introduction: Introduction<'_>,
        affinity: Option<Affinity>,
    ) -> Result<Response<GatewayBody>, GatewayError> {
        if self.upstreams.is_empty() {
            return Err(GatewayError::missing_target(self.route));
        }
        let upgrade = Upgrade::wanted(&mut request);
        introduction.upgrade = upgrade.as_ref().map(|upgrade| &upgrade.protocol);
        let (parts, body) = request.into_parts();
        let (lease, head) = self.exchange(&parts, body, path, &introduction, affinity).await?;
        match upgrade {
            Some(upgrade) if head.status == StatusCode::SWITCHING_PROTOCOLS => {
                Ok(upgrade.through(lease, head, &self.drain))
            }
            _ => Ok(self.pass_on(lease, head)),
        }
    }

    async fn exchange(
        &self,
        parts: &Parts,
        mut body: RequestBody,
        path: &str,
        introduction: &Introduction<'_>,
        affinity: Option<Affinity>,
    ) -> Result<(Lease, ResponseHead), GatewayError> {
        let framing = if body.is_end_stream() {
            BodyFraming::Ended
        } else if parts.headers.contains_key(header::CONTENT_LENGTH) {
            BodyFraming::Plain
        } else {
            BodyFraming::Chunked
        };
        let repeatable = framing == BodyFraming::Ended && is_idempotent(&parts.method);
        let watch = body.watch();
        let mut fresh = introduction.upgrade.is_some();
        loop {
            let lease = self.upstreams.lease(fresh, affinity).await;
            let mut lease = lease.map_err(|_| GatewayError::upstream_unavailable(self.route))?;
            let Lease { target, connection, .. } = &mut lease;
            let target_path =
                TargetPath { host: target.host(), base: target.base(), path, query: parts.uri.query() };
            forward::write_head(&mut connection.head, parts, &target_path, introduction, framing);
            let sent = std::mem::replace(&mut body, RequestBody::empty());
            match connection.exchange(&parts.method, sent, framing, self.timeout).await {
                Ok(head)
                    if head.status != StatusCode::SWITCHING_PROTOCOLS || introduction.upgrade.is_some() =>
                {
                    lease.target.answered();
                    return Ok((lease, head));
                }
                // An idle connection may have been closed meanwhile, which says nothing about its target.
                Err(ExchangeError::Io(_) | ExchangeError::Closed) if lease.reused && repeatable => {
                    fresh = true
                }
                failed => {
                    return Err(match watch.fault() {
                        Some(fault) => GatewayError::body(self.route, fault),
                        None => self.note_failure(&lease, failed.err()),
                    });
                }
            }
        }
    }

    /// Counts a failed exchange against its target, and returns the error for the client.
    fn note_failure(&self, lease: &Lease, error: Option<ExchangeError>) -> GatewayError {
        lease.target.exchange_failed();
        let cause = error
            .as_ref()
            .map_or("an upgrade that the client did not ask for".to_owned(), ToString::to_string);
        tracing::warn!(target = %lease.target.url, cause, "a target did not answer");
        match error {
            Some(ExchangeError::Silent) => GatewayError::upstream_timeout(self.route),
            _ => GatewayError::upstream_unavailable(self.route),
        }
    }

    fn pass_on(&self, lease: Lease, head: ResponseHead) -> Response<GatewayBody> {
        let body = UpstreamBody::new(head.framing, lease, &head.headers, self.timeout, &self.drain);
        let mut response = Response::new(GatewayBody::Upstream(body));
        *response.status_mut() = head.status;
        *response.headers_mut() = head.headers;
        response
    }
}

/// Tells whether a request of this method may be sent twice.
fn is_idempotent(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE, Method::PUT, Method::DELETE].contains(method)
}
