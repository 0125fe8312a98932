//! HTTP upgrades, WebSocket above all: once both sides agree, bytes pass in both directions as they are.

use crate::body::GatewayBody;
use crate::error::GatewayError;
use crate::proxy::Proxy;
use crate::upstream::Lease;
use http::header::{self, HeaderValue};
use http::{Request, Response, StatusCode, Version};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use kit::serve::{Drain, RequestBody};

pub struct Upgrade {
    protocol: HeaderValue,
    client: OnUpgrade,
}

/// The upgrade that a request asks for, taken out of it before its hop-by-hop headers go.
pub fn wanted(request: &mut Request<RequestBody>) -> Option<Upgrade> {
    let headers = request.headers();
    let protocol = headers.get(header::UPGRADE)?.clone();
    let mut options = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let asked =
        options.any(|list| list.split(',').any(|option| option.trim().eq_ignore_ascii_case("upgrade")));
    if !asked || request.version() != Version::HTTP_11 || protocol.as_bytes().starts_with(b"h2c") {
        return None;
    }
    Some(Upgrade { protocol, client: hyper::upgrade::on(request) })
}

impl Upgrade {
    pub async fn through(
        self,
        proxy: &Proxy,
        mut lease: Lease,
        mut request: Request<RequestBody>,
    ) -> Result<Response<GatewayBody>, GatewayError> {
        request.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        request.headers_mut().insert(header::UPGRADE, self.protocol);
        let Some(connection) = lease.take_connection() else {
            return Err(GatewayError::upstream_unavailable(proxy.route));
        };
        let sent = tokio::time::timeout(proxy.timeout, connection.send_upgrade(request)).await;
        let sent = sent.map_err(|_| GatewayError::upstream_timeout(proxy.route))?;
        let mut response = sent.map_err(|_| {
            lease.target.exchange_failed();
            GatewayError::upstream_unavailable(proxy.route)
        })?;
        lease.target.answered();
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(proxy.pass_on(lease, response));
        }
        let target = hyper::upgrade::on(&mut response);
        tokio::spawn(run(self.client, target, lease, proxy.drain.clone()));
        Ok(response.map(|_| GatewayBody::own("")))
    }
}

/// Until one side closes or the process stops.
async fn run(client: OnUpgrade, target: OnUpgrade, _busy: Lease, drain: Drain) {
    let (Ok(client), Ok(target)) = tokio::join!(client, target) else { return };
    let (mut client, mut target): (TokioIo<Upgraded>, _) = (TokioIo::new(client), TokioIo::new(target));
    tokio::select! {
        // However it ends, both sides are closed by it.
        _ = tokio::io::copy_bidirectional(&mut client, &mut target) => {}
        () = drain.started() => {}
    }
}
