//! The documents that a question is about: `documentId` and `documentIds` of a request.

use super::App;
use crate::tables;
use kit::error::ApiError;
use kit::fields::AnyText;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeSet;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

pub const MOST_DOCUMENTS: usize = 100;

/// The ids of one document or more, in the body of a request.
#[derive(Debug)]
pub struct DocumentIds(Vec<String>);

impl<'de> Deserialize<'de> for DocumentIds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let ids = Vec::deserialize(value)
            .map_err(|_| D::Error::invalid_type(Unexpected::Other("another type"), &"an array of strings"))?;
        match ids.is_empty() {
            true => Err(D::Error::custom("is empty: leave it out to ask all documents")),
            false => Ok(Self(ids)),
        }
    }
}

impl PartialSchema for DocumentIds {
    fn schema() -> RefOr<Schema> {
        let ids = ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::String).build());
        ids.min_items(Some(1)).max_items(Some(MOST_DOCUMENTS)).into()
    }
}

impl ToSchema for DocumentIds {}

/// Returns the ids that a request names, each once. None means all documents.
pub fn named_documents(one: Option<AnyText>, several: Option<DocumentIds>) -> Result<Vec<String>, ApiError> {
    let one = one.map(|id| id.0);
    let ids: BTreeSet<String> = one.into_iter().chain(several.into_iter().flat_map(|ids| ids.0)).collect();
    check_number(ids.len())?;
    Ok(ids.into_iter().collect())
}

pub fn check_number(documents: usize) -> Result<(), ApiError> {
    match documents {
        0..=MOST_DOCUMENTS => Ok(()),
        _ => Err(ApiError::invalid(format!("`documentIds` names more than {MOST_DOCUMENTS} documents"))),
    }
}

/// Fails unless all of these documents are the user's. The error does not say which one is not: it may be another user's.
pub async fn require_owned(app: &App, user_id: &str, ids: &[String]) -> Result<(), ApiError> {
    // No id has a NUL character, and PostgreSQL would refuse the statement.
    let is_text = ids.iter().all(|id| !id.contains('\0'));
    if ids.is_empty()
        || (is_text && tables::documents::count_owned(&app.db, user_id, ids).await? == ids.len())
    {
        return Ok(());
    }
    Err(ApiError::not_found("no such document among those that `documentId` or `documentIds` names"))
}
