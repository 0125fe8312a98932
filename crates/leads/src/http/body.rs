//! A submission in any of three encodings: JSON, urlencoded, multipart. All become names and texts.

use super::error::WrongFields;
use crate::intake::{MOST_FIELDS, Pairs};
use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use http::header;
use kit::error::ApiError;
use kit::headers;
use kit::json::{self, MAX_BODY};
use kit::request::{body_error, read_whole};
use serde_json::Value;

const LONGEST_NAME: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Urlencoded,
    Multipart,
}

impl Encoding {
    /// What is neither of the two that HTML forms have is read as JSON: clients often do not say.
    pub fn of(request: &Request) -> Self {
        let given = headers::text(request.headers(), header::CONTENT_TYPE).unwrap_or_default();
        let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/x-www-form-urlencoded" => Self::Urlencoded,
            "multipart/form-data" => Self::Multipart,
            _ => Self::Json,
        }
    }
}

pub async fn read(request: Request, encoding: Encoding) -> Result<Pairs, ApiError> {
    let pairs = match encoding {
        Encoding::Json => from_json(&read_whole(request.into_body(), MAX_BODY).await?)?,
        Encoding::Urlencoded => {
            let body = read_whole(request.into_body(), MAX_BODY).await?;
            // curl calls everything a form; a form's own braces are written `%7B`.
            if body.trim_ascii_start().starts_with(b"{") {
                return from_json(&body);
            }
            // One more than allowed is enough to see that it is too many.
            form_urlencoded::parse(&body)
                .take(MOST_FIELDS + 1)
                .map(|(name, value)| (name.into(), value.into()))
                .collect()
        }
        Encoding::Multipart => from_multipart(request).await?,
    };
    if pairs.len() > MOST_FIELDS {
        return Err(too_many());
    }
    Ok(pairs)
}

fn too_many() -> ApiError {
    ApiError::invalid(format!("the form has more than {MOST_FIELDS} fields"))
}

fn from_json(body: &[u8]) -> Result<Pairs, ApiError> {
    let fields = match json::parse(body).map_err(|fault| ApiError::invalid(fault.to_string()))? {
        Value::Object(fields) => fields,
        _ => return Err(ApiError::invalid("the body is not a JSON object")),
    };
    if fields.len() > MOST_FIELDS {
        return Err(too_many());
    }
    let mut pairs = Pairs::new();
    for (name, value) in fields {
        // It is repeated for each of a list's values.
        if name.len() > LONGEST_NAME {
            return Err(ApiError::invalid(format!("a field's name is longer than {LONGEST_NAME} bytes")));
        }
        match value {
            Value::Array(values) => {
                for value in values {
                    if pairs.len() >= MOST_FIELDS {
                        return Err(too_many());
                    }
                    pairs.extend(scalar(&name, value)?.map(|text| (name.clone(), text)));
                }
            }
            value => pairs.extend(scalar(&name, value)?.map(|text| (name.clone(), text))),
        }
    }
    Ok(pairs)
}

fn scalar(name: &str, value: Value) -> Result<Option<String>, ApiError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Bool(_) | Value::Number(_) => Ok(Some(value.to_string())),
        Value::Array(_) | Value::Object(_) => {
            let name: String = name.chars().take(64).collect();
            Err(ApiError::invalid(format!("`{name}` is not a text, a number, a boolean or a list of those"))
                .with(WrongFields { fields: vec![name] }))
        }
    }
}

async fn from_multipart(mut request: Request) -> Result<Pairs, ApiError> {
    DefaultBodyLimit::max(MAX_BODY).apply(&mut request);
    let multipart = Multipart::from_request(request, &()).await;
    let mut multipart =
        multipart.map_err(|_| ApiError::invalid("the body is not multipart/form-data with a boundary"))?;
    let mut pairs = Pairs::new();
    while let Some(field) = multipart.next_field().await.map_err(broken)? {
        if pairs.len() >= MOST_FIELDS {
            return Err(too_many());
        }
        let name = field.name().unwrap_or_default().to_owned();
        let file = field.file_name().map(str::to_owned);
        let bytes = field.bytes().await.map_err(broken)?;
        match file {
            // A browser sends a file input that nobody used as this.
            Some(file) if file.is_empty() && bytes.is_empty() => continue,
            Some(_) => {
                let name: String = name.chars().take(64).collect();
                let fault = ApiError::invalid(format!("`{name}` is a file: forms take texts only"));
                return Err(fault.with(WrongFields { fields: vec![name] }));
            }
            None => {}
        }
        let text = String::from_utf8(bytes.into());
        let text = text.map_err(|_| ApiError::invalid("a field of the form is not UTF-8"))?;
        pairs.push((name, text));
    }
    Ok(pairs)
}

fn broken(error: MultipartError) -> ApiError {
    if error.status() == http::StatusCode::PAYLOAD_TOO_LARGE {
        return ApiError::too_large("the body is larger than this path takes");
    }
    body_error(&error)
}
