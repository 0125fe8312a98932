//! What a question is about: `documentId`, `documentIds`, `spaceId` and `spaceIds` of a request.

use super::App;
use crate::chat::Ask;
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

pub const MOST_IDS: usize = 100;

/// One id or more, in the body of a request.
#[derive(Debug)]
pub struct Ids(Vec<String>);

impl<'de> Deserialize<'de> for Ids {
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

impl PartialSchema for Ids {
    fn schema() -> RefOr<Schema> {
        let ids = ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::String).build());
        ids.min_items(Some(1)).max_items(Some(MOST_IDS)).into()
    }
}

impl ToSchema for Ids {}

/// Returns the documents that a request names, each once. None means all.
pub fn named_documents(one: Option<AnyText>, several: Option<Ids>) -> Result<Vec<String>, ApiError> {
    let ids = distinct(one, several);
    check_number(ids.len())?;
    Ok(ids)
}

/// Returns the spaces that a request names, each once. None means all.
pub fn named_spaces(one: Option<AnyText>, several: Option<Ids>) -> Result<Vec<String>, ApiError> {
    let ids = distinct(one, several);
    match ids.len() {
        0..=MOST_IDS => Ok(ids),
        _ => Err(ApiError::invalid(format!("`spaceIds` names more than {MOST_IDS} spaces"))),
    }
}

fn distinct(one: Option<AnyText>, several: Option<Ids>) -> Vec<String> {
    let one = one.map(|id| id.0);
    let ids: BTreeSet<String> = one.into_iter().chain(several.into_iter().flat_map(|ids| ids.0)).collect();
    ids.into_iter().collect()
}

pub fn check_number(documents: usize) -> Result<(), ApiError> {
    match documents {
        0..=MOST_IDS => Ok(()),
        _ => Err(ApiError::invalid(format!("`documentIds` names more than {MOST_IDS} documents"))),
    }
}

/// Fails unless the user may see all spaces and documents that a question is about. The error does not say which one is
/// not to be seen: it may be another user's.
pub async fn require_visible(app: &App, user_id: &str, ask: &Ask) -> Result<(), ApiError> {
    let mut scope = app.search.scope(user_id, &ask.space_ids).await?;
    if let Some(owner_id) = &ask.files_owner {
        scope = scope.and_files(owner_id);
    }
    let ids: Vec<&str> = ask.document_ids.iter().map(String::as_str).collect();
    // No id has a NUL character, and PostgreSQL would refuse the statement.
    let is_text = ids.iter().all(|id| !id.contains('\0'));
    if is_text && tables::documents::titles(&app.db, &scope, &ids).await?.len() == ids.len() {
        return Ok(());
    }
    Err(ApiError::not_found("no such document among those that `documentId` or `documentIds` names"))
}
