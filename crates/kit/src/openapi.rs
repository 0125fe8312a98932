//! The OpenAPI document of a service, made from its route table and the types of its handlers, and served as
//! `/openapi.json` and as a page to browse and try, `/docs`.
//!
//! Handlers say what is theirs alone: the answer of success, and errors of their own. What holds for every operation is
//! added here: tags, ids, the errors that any request may meet, an example of each body.

mod docs;
mod examples;

use crate::error::ErrorBody;
use crate::health::{Health, Reader};
use crate::serve::{AxumHandler, Door, keep_private};
use axum::middleware::map_response;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::schema::ComponentsBuilder;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, ContentBuilder, Info, OpenApi, Ref, RefOr, Response, SecurityRequirement};
use utoipa_axum::router::OpenApiRouter;

/// What is said of a service as a whole.
pub struct Description {
    pub title: &'static str,
    pub text: &'static str,
    /// What a caller may come with, unless an operation says `security(())`: any one of these.
    pub security: &'static [Credential],
}

/// A way to say who calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// A token in `Authorization: Bearer`.
    Bearer,
    /// A session's token in a header.
    ApiKey(&'static str),
    /// A session's token in a cookie.
    Cookie(&'static str),
}

impl Credential {
    fn name(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::ApiKey(_) => "apiKey",
            Self::Cookie(_) => "cookie",
        }
    }

    fn scheme(self) -> SecurityScheme {
        match self {
            Self::Bearer => SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build()),
            Self::ApiKey(name) => SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new(name))),
            Self::Cookie(name) => SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new(name))),
        }
    }
}

/// The errors that any request may meet, with their codes.
const ANY_REQUEST: [(&str, &str); 6] = [
    ("400", "`INVALID_REQUEST`: the request cannot be read, or does not say what it has to."),
    ("408", "`REQUEST_TIMEOUT`: the request came too slowly."),
    ("413", "`PAYLOAD_TOO_LARGE`: the body is larger than this path takes."),
    ("500", "`INTERNAL_ERROR`: the log has the cause under the answer's `X-Request-Id`."),
    ("503", "`UNAVAILABLE` or `STORAGE_UNAVAILABLE`: try again after `Retry-After` seconds."),
    ("507", "`INSUFFICIENT_STORAGE`: no space is left, and nothing of the request was kept."),
];
/// That of an operation that needs a caller.
const NO_CALLER: (&str, &str) = ("401", "`UNAUTHORIZED`: the request does not say who calls.");
/// That of an operation that a caller may be named to, also if it needs none.
const WRONG_CALLER: (&str, &str) =
    ("403", "`FORBIDDEN`: the caller may not do this, or what they came with does not verify.");

/// Serves a service: its routes, those of its health, and its document.
pub fn handler(routes: OpenApiRouter, description: &Description, health: Health, door: Door) -> AxumHandler {
    let (routes, openapi) = routes.merge(health.routes(Reader::Public)).split_for_parts();
    let document = complete(openapi, description);
    let routes = routes.merge(docs::routes(&document)).layer(map_response(keep_private));
    AxumHandler::new(routes, door).naming_unknown_fields(&document)
}

/// The document of a service with these routes, as it is served.
pub fn document<S: Clone + Send + Sync + 'static>(
    routes: OpenApiRouter<S>,
    description: &Description,
) -> Value {
    let mut openapi = routes.into_openapi();
    openapi.merge(Health::default().routes(Reader::Public).into_openapi());
    complete(openapi, description)
}

/// The body of a service's errors.
pub trait ErrorExample: Serialize + ToSchema {
    /// Returns the body of an error with this status and code.
    fn example(status: u16, code: &str, meaning: &str) -> Self;
}

impl ErrorExample for ErrorBody {
    fn example(_: u16, code: &str, meaning: &str) -> Self {
        Self { error: meaning.to_owned(), code: code.to_owned(), success: false, details: Map::new() }
    }
}

/// Adds what holds for every operation of a service with the usual errors.
pub fn complete(openapi: OpenApi, description: &Description) -> Value {
    complete_with::<ErrorBody>(openapi, description)
}

/// Adds what holds for every operation of a service whose errors have the body `E`.
pub fn complete_with<E: ErrorExample>(mut openapi: OpenApi, description: &Description) -> Value {
    let mut info = Info::new(description.title, env!("CARGO_PKG_VERSION"));
    info.description = Some(description.text.to_owned());
    openapi.info = info;
    let mut components =
        ComponentsBuilder::from(openapi.components.take().unwrap_or_default()).schema(E::name(), E::schema());
    for credential in description.security {
        components = components.security_scheme(credential.name(), credential.scheme());
    }
    openapi.components = Some(components.build());
    let requirement = |credential: &Credential| SecurityRequirement::new(credential.name(), [""; 0]);
    openapi.security = Some(description.security.iter().map(requirement).collect());
    // The parameter for the rest of a path has a star in the route table, which OpenAPI does not know.
    let paths = std::mem::take(&mut openapi.paths.paths).into_iter();
    openapi.paths.paths = paths.map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    for (path, item) in &mut openapi.paths.paths {
        for (method, operation) in operations(item) {
            operation.operation_id = Some(operation_id(method, path));
            operation.tags = Some(vec![tag(path)]);
            add_errors::<E>(operation);
        }
    }
    let mut document = serde_json::to_value(&openapi).unwrap_or_default();
    examples::add(&mut document);
    allow_empty_values(&mut document);
    document
}

/// Says that an empty parameter of the query counts as absent: forms send their empty fields, too.
fn allow_empty_values(document: &mut Value) {
    let paths = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    let operations = paths.flat_map(|path| path.as_object_mut().into_iter().flat_map(Map::values_mut));
    let lists = operations.filter_map(|operation| operation.get_mut("parameters")?.as_array_mut());
    for parameter in lists.flatten().filter(|parameter| parameter["in"] == "query") {
        parameter["allowEmptyValue"] = true.into();
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, put, post, delete, options, head, patch, .. } = item;
    let all = [
        ("get", get),
        ("put", put),
        ("post", post),
        ("delete", delete),
        ("options", options),
        ("head", head),
        ("patch", patch),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn add_errors<E: ErrorExample>(operation: &mut Operation) {
    let none = SecurityRequirement::default();
    let accepted = operation.security.as_deref();
    let needs_caller = accepted.is_none_or(|accepted| !accepted.is_empty() && !accepted.contains(&none));
    let takes_caller = accepted.is_none_or(|accepted| accepted.iter().any(|credential| *credential != none));
    let of_caller = [(NO_CALLER, needs_caller), (WRONG_CALLER, takes_caller)];
    let of_caller = of_caller.into_iter().filter_map(|(error, applies)| applies.then_some(error));
    for (status, text) in ANY_REQUEST.into_iter().chain(of_caller) {
        let error = || RefOr::T(Response::new(text));
        operation.responses.responses.entry(status.to_owned()).or_insert_with(error);
    }
    // An error says only what it means: its body is that of every error.
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        if response.description.is_empty() {
            response.description = "Success.".to_owned();
        }
        if let Ok(status @ 400..) = status.parse()
            && response.content.is_empty()
        {
            let content = error_content::<E>(status, &response.description);
            response.content.insert("application/json".to_owned(), RefOr::T(content));
        }
    }
}

/// The body of an error whose description is its code, and then what it means.
fn error_content<E: ErrorExample>(status: u16, description: &str) -> Content {
    let (code, meaning) = description.split_once(": ").unwrap_or(("`ERROR`", description));
    let example = E::example(status, code.split('`').nth(1).unwrap_or_default(), meaning);
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(E::name())));
    content.example(serde_json::to_value(example).ok()).build()
}

/// The part of a path that says what it is about.
fn tag(path: &str) -> String {
    let mut parts =
        path.split('/').filter(|part| !part.is_empty() && !["api", "portal", "v1"].contains(part));
    parts.next().filter(|part| !part.starts_with('{')).unwrap_or("service").to_owned()
}

fn operation_id(method: &str, path: &str) -> String {
    let words =
        path.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty() && *word != "api");
    std::iter::once(method).chain(words).collect::<Vec<_>>().join("_")
}
