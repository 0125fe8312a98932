//! What services read from a request: a JSON body, the query, a part of the path. Faults come in their error shape.

mod fault;
mod parameter;

pub use fault::FieldFault;

use crate::error::ApiError;
use crate::json::{self, JsonFault, MAX_BODY};
use crate::serve::BodyFault;
use crate::unknown_fields::UnknownFields;
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, OptionalFromRequest, Path, Request};
use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use parameter::Parameter;
use serde::Deserializer;
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::error::Error;

/// A JSON object of at most 1 MiB, whatever the request says of its type.
pub struct JsonObject(pub Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for JsonObject {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        match read_json(request, MAX_BODY).await? {
            Value::Object(object) => Ok(Self(object)),
            _ => Err(ApiError::invalid("the body is not a JSON object")),
        }
    }
}

pub async fn read_json<T: DeserializeOwned>(request: Request, limit: usize) -> Result<T, ApiError> {
    let (parts, body) = request.into_parts();
    let value: Value = parsed(json::parse(&read_whole(body, limit).await?))?;
    if let Value::Object(fields) = &value {
        UnknownFields::of_body(&parts.extensions, fields);
    }
    parsed(T::deserialize(value).map_err(JsonFault::from))
}

/// Reads a body that is a JSON object, and returns its text for [`from_text`].
pub async fn read_object(request: Request, limit: usize) -> Result<Bytes, ApiError> {
    let (parts, body) = request.into_parts();
    let text = read_whole(body, limit).await?;
    let fields: Map<String, Value> = parsed(json::parse(&text))?;
    UnknownFields::of_body(&parts.extensions, &fields);
    Ok(text)
}

fn parsed<T>(result: Result<T, JsonFault>) -> Result<T, ApiError> {
    result.map_err(|fault| ApiError::invalid(fault.to_string()))
}

pub async fn read_whole(body: Body, limit: usize) -> Result<Bytes, ApiError> {
    let whole = Limited::new(body, limit).collect().await.map_err(|error| body_error(&*error))?;
    Ok(whole.to_bytes())
}

/// What broke while a body was read, found among the causes of an error.
pub fn body_error(error: &(dyn Error + 'static)) -> ApiError {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return ApiError::too_large("the body is larger than this path takes");
        }
        match error.downcast_ref::<BodyFault>() {
            Some(BodyFault::TooSlow) => {
                let message = BodyFault::TooSlow.to_string();
                return ApiError::new(StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT", message);
            }
            Some(fault @ BodyFault::TooLarge(_)) => return ApiError::too_large(fault.to_string()),
            _ => cause = error.source(),
        }
    }
    ApiError::invalid(format!("the body cannot be read: {error}"))
}

/// A JSON object of at most 1 MiB, read into `T`. Errors name the field.
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let JsonObject(fields) = JsonObject::from_request(request, state).await?;
        Ok(Self(from_fields(Value::Object(fields))?))
    }
}

/// None if the body is empty.
impl<T: DeserializeOwned, S: Send + Sync> OptionalFromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Option<Self>, ApiError> {
        let (parts, body) = request.into_parts();
        let text = read_whole(body, MAX_BODY).await?;
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let request = Request::from_parts(parts, Body::from(text));
        <Self as FromRequest<S>>::from_request(request, state).await.map(Some)
    }
}

/// The query string, read into `T`. An optional parameter without a value counts as absent; of one that is given twice,
/// the last counts. Errors name the parameter.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        from_query(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

/// Reads a query string as [`Query`] does.
pub fn from_query<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let mut last = BTreeMap::new();
    last.extend(form_urlencoded::parse(query.as_bytes()));
    if last.values().any(|value| value.contains('\0')) {
        return Err(ApiError::invalid("the query string has a NUL character"));
    }
    let parameters = last.iter().map(|(name, value)| (name.as_ref(), Parameter(value)));
    let read = serde_path_to_error::deserialize(MapDeserializer::new(parameters));
    let text_of = |name: &str| last.get(name).map(AsRef::as_ref);
    Ok(read.map_err(|error| {
        FieldFault::of(&error.path().to_string(), &error.into_inner().to_string(), text_of)
    })?)
}

/// Returns all values of a parameter that may be given several times.
pub fn values_of(query: &str, name: &str) -> Vec<String> {
    let pairs = form_urlencoded::parse(query.as_bytes()).filter(|(own, _)| own == name);
    pairs.map(|(_, value)| value.into_owned()).collect()
}

/// Reads named fields into `T`, with errors that name the field.
pub fn from_fields<'a, T: DeserializeOwned, D: Deserializer<'a>>(fields: D) -> Result<T, FieldFault> {
    let read = serde_path_to_error::deserialize(fields);
    read.map_err(|error| FieldFault::of(&error.path().to_string(), &error.into_inner().to_string(), |_| None))
}

/// Reads the fields of a JSON object from its text, which a type may keep parts of as they are (`RawValue`). Errors name the
/// field.
pub fn from_text<T: DeserializeOwned>(text: &[u8]) -> Result<T, FieldFault> {
    let read = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(text));
    read.map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        // The field is named, so that its place in the text says nothing more.
        let place = format!(" at line {} column {}", cause.line(), cause.column());
        let cause = cause.to_string();
        FieldFault::of(&path, cause.strip_suffix(&place).unwrap_or(&cause), |_| None)
    })
}

/// The one parameter of a path such as `/api/documents/{id}`.
pub struct PathId(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let id = Path::<String>::from_request_parts(parts, state).await;
        let id = id.ok().map(|Path(id)| id).filter(|id| !id.contains('\0'));
        id.map(Self).ok_or_else(|| ApiError::not_found("no such path"))
    }
}
