//! An S3 bucket, or what is below a prefix of it.

mod client;
mod keys;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStoreExt, RetryConfig};
use std::time::Duration;
use url::Url;

use crate::{
    ConnectError, Connector, Count, Environment, Found, Item, ItemError, PAGE, Reading, Settings, Sink,
    limited, network,
};
use client::GuardedConnector;

const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
/// For one page of the list, with its retries.
const LIST_TIMEOUT: Duration = Duration::from_secs(90);
const DEFAULT_REGION: &str = "us-east-1";

pub(crate) struct S3 {
    bucket: AmazonS3,
    prefix: String,
    position: Position,
    listed: Count,
}

/// How far the list was read.
enum Position {
    Start,
    After(String),
    End,
}

/// Returns the address of the server; none for Amazon's own.
pub(crate) fn check(settings: &Settings, environment: &Environment) -> Result<Option<Url>, ConnectError> {
    let Settings::S3 { bucket, prefix, endpoint, region, .. } = settings else { return Ok(None) };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if bucket.is_empty() || !bucket.chars().all(is_name) {
        return Err(ConnectError::new("`bucket` has to be a name of letters, digits, `.`, `-` and `_`"));
    }
    if prefix.starts_with('/') {
        return Err(ConnectError::new("`prefix` begins with `/`: keys do not"));
    }
    // The region is part of Amazon's host name.
    if !region.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Err(ConnectError::new("`region` has to be a name such as `us-east-1`"));
    }
    if endpoint.is_empty() {
        return Ok(None);
    }
    let url = network::parse_address("endpoint", endpoint, environment)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(ConnectError::new("`endpoint` is an address without `?` and `#`"));
    }
    if url.scheme() == "http" && !environment.allow_private_addresses {
        return Err(ConnectError::new("`endpoint` has to be an https address"));
    }
    Ok(Some(url))
}

impl S3 {
    pub async fn open(
        settings: &Settings,
        secret: Option<&str>,
        environment: &Environment,
    ) -> Result<S3, ConnectError> {
        let endpoint = check(settings, environment)?;
        let Settings::S3 { bucket, prefix, region, access_key_id, .. } = settings else {
            return Err(ConnectError::new("these are no settings of an S3 bucket"));
        };
        let region = if region.is_empty() { DEFAULT_REGION } else { region };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(region)
            .with_http_connector(GuardedConnector { client: network::HttpClient::new(environment)? })
            .with_retry(RetryConfig {
                max_retries: 3,
                retry_timeout: RETRY_TIMEOUT,
                ..RetryConfig::default()
            });
        if let Some(endpoint) = endpoint {
            check_addresses(&endpoint, environment).await?;
            let is_plain = endpoint.scheme() == "http";
            builder =
                builder.with_endpoint(endpoint.as_str().trim_end_matches('/')).with_allow_http(is_plain);
        }
        builder = match (access_key_id.as_str(), secret) {
            // Without a key nothing is signed; the keys of the server's own machine are never looked for.
            ("", _) => builder.with_skip_signature(true),
            (id, Some(secret)) => builder.with_access_key_id(id).with_secret_access_key(secret),
            (_, None) => return Err(ConnectError::new("`accessKeyId` needs its secret access key")),
        };
        let bucket = builder.build().map_err(|error| ConnectError::new(message(&error)))?;
        Ok(S3 { bucket, prefix: prefix.clone(), position: Position::Start, listed: Count::default() })
    }

    async fn next_page(&mut self) -> Result<Option<Vec<Item>>, ConnectError> {
        loop {
            let page_token = match &self.position {
                Position::Start => None,
                Position::After(token) => Some(token.clone()),
                Position::End => return Ok(None),
            };
            let options =
                PaginatedListOptions { max_keys: Some(PAGE), page_token, ..PaginatedListOptions::default() };
            let prefix = Some(self.prefix.as_str()).filter(|prefix| !prefix.is_empty());
            let listed =
                tokio::time::timeout(LIST_TIMEOUT, self.bucket.list_paginated(prefix, options)).await;
            let page = match listed {
                Ok(page) => page.map_err(|error| ConnectError::new(message(&error)))?,
                Err(_) => return Err(ConnectError::new("the bucket cannot be listed: no answer")),
            };
            self.position = page.page_token.map_or(Position::End, Position::After);
            // Markers of folders are empty, and lose the `/` at the end of their names in this list.
            let objects = page.result.objects.iter().filter(|object| object.size > 0);
            let items: Vec<Item> = objects.map(item).collect();
            if items.len() > PAGE {
                return Err(ConnectError::new(
                    "the bucket cannot be listed: the server sends more than was asked for",
                ));
            }
            // A page without items counts as a full one: the next could be one as well.
            self.listed.add(if items.is_empty() { PAGE } else { items.len() })?;
            if !items.is_empty() {
                return Ok(Some(items));
            }
        }
    }

    async fn read_object(&self, item: &Item, known: &str, sink: &mut dyn Sink) -> Result<Reading, ItemError> {
        if known == item.version {
            return Ok(Reading::Unchanged);
        }
        let key = Path::parse(&item.path).map_err(|error| ItemError::Item(error.to_string()))?;
        let object = match self.bucket.get(&key).await {
            Ok(object) => object,
            Err(Error::NotFound { .. }) => return Err(ItemError::Item("it is gone".to_owned())),
            // Of one object: it is archived, or has rules of its own.
            Err(error @ (Error::PermissionDenied { .. } | Error::Unauthenticated { .. })) => {
                return Err(ItemError::Item(format!("it may not be read: {}", reason(&error))));
            }
            Err(error) => return Err(ItemError::Place(message(&error))),
        };
        let mut pieces = object.into_stream();
        while let Some(piece) = pieces.next().await {
            sink.write(&piece.map_err(|error| ItemError::Place(message(&error)))?)?;
        }
        let filename = item.path.rsplit('/').next().unwrap_or_default().to_owned();
        // Not the version of this answer: some servers have entity tags here and none in lists.
        let state = item.version.clone();
        Ok(Reading::Read(Found { state, filename, ..Found::default() }))
    }
}

impl Connector for S3 {
    fn next_items(&mut self) -> BoxFuture<'_, Result<Option<Vec<Item>>, ConnectError>> {
        self.next_page().boxed()
    }

    fn read<'a>(
        &'a mut self,
        item: &'a Item,
        known: &'a str,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reading, ItemError>> {
        limited(self.read_object(item, known, sink)).boxed()
    }
}

/// Resolves the endpoint, so that a refused one is told as such and not as a failed request.
async fn check_addresses(endpoint: &Url, environment: &Environment) -> Result<(), ConnectError> {
    let host = endpoint.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = endpoint.port_or_known_default().unwrap_or_default();
    let resolved = network::resolve(host, port, environment).await;
    resolved.map(drop).map_err(|reason| ConnectError::new(format!("`endpoint` cannot be used: {reason}")))
}

fn item(object: &ObjectMeta) -> Item {
    Item { path: object.location.to_string(), version: version(object) }
}

fn version(object: &ObjectMeta) -> String {
    match &object.e_tag {
        Some(tag) => tag.trim_matches('"').to_owned(),
        None => format!("{}-{}", object.last_modified.timestamp_millis(), object.size),
    }
}

/// Returns what went wrong. The outer errors name a request, and the innermost one what the server said.
fn message(error: &Error) -> String {
    format!("the bucket cannot be read: {}", reason(error))
}

fn reason(error: &Error) -> String {
    base::innermost(error).chars().take(300).collect()
}
