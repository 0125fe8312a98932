//! HTTP upgrades such as WebSocket: once both sides agree, bytes are copied in both directions.

use crate::body::GatewayBody;
use crate::upstream::{Lease, ResponseHead};
use http::header::{self, HeaderValue};
use http::{Request, Response, Version};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use kit::serve::{Drain, RequestBody};
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

const LAST_WORDS: Duration = Duration::from_secs(30);

pub struct Upgrade {
    pub protocol: HeaderValue,
    client: OnUpgrade,
}

impl Upgrade {
    /// Returns the upgrade that a request asks for.
    pub fn wanted(request: &mut Request<RequestBody>) -> Option<Self> {
        let headers = request.headers();
        let protocol = headers.get(header::UPGRADE)?.clone();
        let mut options = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
        let asked =
            options.any(|list| list.split(',').any(|option| option.trim().eq_ignore_ascii_case("upgrade")));
        // With a body on its way, the start of the tunnel could not be found.
        let asked = asked && http_body::Body::is_end_stream(request.body());
        if !asked || request.version() != Version::HTTP_11 || protocol.as_bytes().starts_with(b"h2c") {
            return None;
        }
        Some(Self { protocol, client: hyper::upgrade::on(request) })
    }

    /// Answers the client that both sides have agreed, and connects the two.
    pub fn through(self, lease: Lease, head: ResponseHead, drain: &Drain) -> Response<GatewayBody> {
        tokio::spawn(run(self.client, lease, drain.clone()));
        let mut response = Response::new(GatewayBody::own(""));
        *response.status_mut() = head.status;
        *response.headers_mut() = head.headers;
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        response
    }
}

/// Copies bytes until one side closes or the process stops. The lease counts the target as busy for so long.
async fn run(client: OnUpgrade, lease: Lease, drain: Drain) {
    let Lease { target: _busy, connection, .. } = lease;
    let Ok(client) = client.await else { return };
    let mut client = TokioIo::new(client);
    let (mut target, said) = connection.into_parts();
    let copying = async {
        client.write_all(&said).await?;
        let (mut from_client, mut to_client) = tokio::io::split(client);
        let (mut from_target, mut to_target) = target.split();
        let mut up = pin!(pass(&mut from_client, &mut to_target));
        let mut down = pin!(pass(&mut from_target, &mut to_client));
        // After one side has ended, the other gets a moment to send its last bytes.
        tokio::select! {
            _ = &mut up => drop(timeout(LAST_WORDS, down).await),
            _ = &mut down => drop(timeout(LAST_WORDS, up).await),
        }
        std::io::Result::Ok(())
    };
    tokio::select! {
        // Whatever the reason is, both sides are closed here.
        _ = copying => {}
        () = drain.started() => {}
    }
}

async fn pass(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<()> {
    tokio::io::copy(from, to).await?;
    to.shutdown().await
}
