//! HTTP upgrades, WebSocket above all: once both sides agree, bytes pass in both directions as they are.

use crate::body::GatewayBody;
use crate::upstream::{Lease, ResponseHead};
use http::header::{self, HeaderValue};
use http::{Request, Response, Version};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use kit::serve::{Drain, RequestBody};
use tokio::io::AsyncWriteExt;

pub struct Upgrade {
    pub protocol: HeaderValue,
    client: OnUpgrade,
}

impl Upgrade {
    /// The upgrade that a request asks for.
    pub fn wanted(request: &mut Request<RequestBody>) -> Option<Self> {
        let headers = request.headers();
        let protocol = headers.get(header::UPGRADE)?.clone();
        let mut options = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
        let asked =
            options.any(|list| list.split(',').any(|option| option.trim().eq_ignore_ascii_case("upgrade")));
        if !asked || request.version() != Version::HTTP_11 || protocol.as_bytes().starts_with(b"h2c") {
            return None;
        }
        Some(Self { protocol, client: hyper::upgrade::on(request) })
    }

    /// Both have agreed: tells the client so, and connects the two.
    pub fn through(self, lease: Lease, head: ResponseHead, drain: &Drain) -> Response<GatewayBody> {
        tokio::spawn(run(self.client, lease, drain.clone()));
        let mut response = Response::new(GatewayBody::own(""));
        *response.status_mut() = head.status;
        *response.headers_mut() = head.headers;
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        response
    }
}

/// Until one side closes or the process stops. The lease counts the target as busy all the while.
async fn run(client: OnUpgrade, lease: Lease, drain: Drain) {
    let Lease { target: _busy, connection, .. } = lease;
    let Ok(client) = client.await else { return };
    let mut client = TokioIo::new(client);
    let (mut target, said) = connection.into_parts();
    let copying = async {
        client.write_all(&said).await?;
        tokio::io::copy_bidirectional(&mut client, &mut target).await
    };
    tokio::select! {
        // However it ends, both sides are closed by it.
        _ = copying => {}
        () = drain.started() => {}
    }
}
