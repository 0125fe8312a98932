//! One proxied exchange: a target is found, the request sent, its answer streamed back.

use crate::body::GatewayBody;
use crate::error::GatewayError;
use crate::forward::{self, Introduction};
use crate::tunnel;
use crate::upstream::{Lease, SendError, Target, UpstreamBody, Upstreams};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, Uri, Version, header};
use hyper::body::Incoming;
use kit::serve::{BodyWatch, Drain, RequestBody};
use kit::token::Route;
use std::time::Duration;

pub struct Proxy {
    pub route: Route,
    pub upstreams: Upstreams,
    /// The longest silence of a target, before its answer and within it.
    pub timeout: Duration,
    pub drain: Drain,
}

/// What follows the prefix, raw.
#[derive(Clone, Copy)]
pub struct Rest<'a> {
    pub path: &'a str,
    pub query: Option<&'a str>,
}

impl Proxy {
    pub async fn forward(
        &self,
        mut request: Request<RequestBody>,
        rest: Rest<'_>,
        introduction: &Introduction<'_>,
    ) -> Result<Response<GatewayBody>, GatewayError> {
        if self.upstreams.is_empty() {
            return Err(GatewayError::missing_target(self.route));
        }
        let upgrade = tunnel::wanted(&mut request);
        forward::prepare(&mut request, introduction);
        *request.version_mut() = Version::HTTP_11;
        match upgrade {
            Some(upgrade) => {
                let lease = self.lease(true).await?;
                aim(&mut request, &lease.target, rest, self.route)?;
                Box::pin(upgrade.through(self, lease, request)).await
            }
            None => {
                let (lease, response) = self.exchange(request, rest).await?;
                Ok(self.pass_on(lease, response))
            }
        }
    }

    async fn exchange(
        &self,
        mut request: Request<RequestBody>,
        rest: Rest<'_>,
    ) -> Result<(Lease, Response<Incoming>), GatewayError> {
        let watch = request.body().watch();
        let repeatable = is_repeatable(&request);
        let mut fresh = false;
        loop {
            let mut lease = self.lease(fresh).await?;
            aim(&mut request, &lease.target, rest, self.route)?;
            let spare = (lease.reused && repeatable).then(|| copy(&request));
            let failure = match self.send(&mut lease, request, &watch).await? {
                Ok(response) => {
                    lease.target.answered();
                    return Ok((lease, response));
                }
                Err(failure) => failure,
            };
            if let Some(fault) = watch.fault() {
                return Err(GatewayError::body(self.route, fault));
            }
            // A connection that was idle may have been closed under us: that says nothing about its target.
            match failure.unsent.map(|unsent| *unsent).or(spare) {
                Some(again) if lease.reused => (request, fresh) = (again, true),
                _ => {
                    lease.target.exchange_failed();
                    tracing::warn!(target = %lease.target.url, error = %failure.error, "a target broke off");
                    return Err(GatewayError::upstream_unavailable(self.route));
                }
            }
        }
    }

    pub async fn lease(&self, fresh: bool) -> Result<Lease, GatewayError> {
        self.upstreams.lease(fresh).await.map_err(|_| GatewayError::upstream_unavailable(self.route))
    }

    async fn send(
        &self,
        lease: &mut Lease,
        request: Request<RequestBody>,
        watch: &BodyWatch,
    ) -> Result<Result<Response<Incoming>, SendError>, GatewayError> {
        let Some(connection) = lease.connection() else {
            return Err(GatewayError::upstream_unavailable(self.route));
        };
        let Some(sent) = connection.send(request, watch, self.timeout).await else {
            lease.target.exchange_failed();
            return Err(GatewayError::upstream_timeout(self.route));
        };
        Ok(sent)
    }

    pub fn pass_on(&self, lease: Lease, response: Response<Incoming>) -> Response<GatewayBody> {
        let (mut parts, incoming) = response.into_parts();
        forward::prepare_response(&mut parts.headers);
        let body = UpstreamBody::new(incoming, lease, &parts.headers, self.timeout, &self.drain);
        Response::from_parts(parts, GatewayBody::Upstream(body))
    }
}

/// Sending these twice does what sending them once does, and nothing of a body is lost.
fn is_repeatable(request: &Request<RequestBody>) -> bool {
    let idempotent = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE, Method::PUT, Method::DELETE];
    idempotent.contains(request.method()) && http_body::Body::is_end_stream(request.body())
}

fn copy(request: &Request<RequestBody>) -> Request<RequestBody> {
    let mut copy = Request::new(RequestBody::empty());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}

/// Points the request at a target: the target's own path, then what followed the prefix, byte for byte.
fn aim(
    request: &mut Request<RequestBody>,
    target: &Target,
    rest: Rest<'_>,
    route: Route,
) -> Result<(), GatewayError> {
    let query = rest.query.unwrap_or_default();
    let mut path = String::with_capacity(target.base().len() + rest.path.len() + query.len() + 1);
    path.push_str(target.base());
    path.push_str(rest.path);
    if rest.query.is_some() {
        path.push('?');
        path.push_str(query);
    }
    let path = PathAndQuery::try_from(path);
    let path = path.map_err(|_| GatewayError::invalid_request(route, "the path cannot be forwarded"))?;
    *request.uri_mut() = Uri::from(path);
    request.headers_mut().insert(header::HOST, target.host.clone());
    Ok(())
}
