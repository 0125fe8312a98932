//! The HTTP client of a bucket: connects only to addresses that are allowed, and keeps no more of an answer than a list
//! may have. Objects themselves are passed on piece by piece.

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};

use super::keys;

/// The most bytes of a list, or of what a server says about an error. A page of 1,000 long keys has less.
const MOST_BYTES: usize = 16 << 20;

/// Gives object_store a client that connects only to addresses that are allowed.
#[derive(Debug)]
pub(super) struct GuardedConnector {
    pub client: crate::network::HttpClient,
}

impl HttpConnector for GuardedConnector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(BoundedClient(self.client.clone())))
    }
}

#[derive(Debug)]
struct BoundedClient(crate::network::HttpClient);

impl HttpService for BoundedClient {
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> BoxFuture<'b, Result<HttpResponse, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let is_list = request.uri().query().is_some_and(|query| query.contains("list-type="));
            let address = request.uri().to_string().parse().map_err(refused)?;
            let client =
                self.0.to(&address).await.map_err(|reason| refused(std::io::Error::other(reason)))?;
            let response = client.call(request).await?;
            if response.status().is_success() && !is_list {
                return Ok(response);
            }
            let (parts, body) = response.into_parts();
            let mut body = collected(body).await?;
            if parts.status.is_success() {
                body = keys::without_odd(body);
            }
            Ok(HttpResponse::from_parts(parts, body.into()))
        })
    }
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> HttpError {
    HttpError::new(HttpErrorKind::Connect, error)
}

/// Returns a body as a whole. object_store would allocate what the server announces, which may be any number.
async fn collected(body: HttpResponseBody) -> Result<Vec<u8>, HttpError> {
    let mut pieces = body.bytes_stream();
    let mut collected = Vec::new();
    while let Some(piece) = pieces.next().await {
        collected.extend_from_slice(&piece?);
        if collected.len() > MOST_BYTES {
            let reason = std::io::Error::other("the server sends too much");
            return Err(HttpError::new(HttpErrorKind::Decode, reason));
        }
    }
    Ok(collected)
}
