//! How much users and spaces have, and may have.

use super::App;
use crate::tables;
use std::collections::HashMap;
use store::StoreError;

#[derive(Clone, Copy, Debug, Default)]
pub struct Storage {
    pub documents: i64,
    /// Of their files, former ones included, and of copies of repositories.
    pub bytes: i64,
    /// The most bytes; none if there is no limit.
    pub quota: Option<i64>,
}

/// Returns how much each of these owners has and may have, by their ids.
pub async fn storage_of(app: &App, owners: &[&str]) -> Result<HashMap<String, Storage>, StoreError> {
    let amounts = tables::documents::amounts(&app.db, owners).await?;
    let allowances = tables::users::allowances(app.db.read(), owners).await?;
    let storage = |owner: &&str| {
        let amount = amounts.get(*owner).copied().unwrap_or_default();
        let quota = allowances.get(*owner).and_then(|own| app.settings.quotas.apply(own));
        ((*owner).to_owned(), Storage { documents: amount.documents, bytes: amount.bytes, quota })
    };
    Ok(owners.iter().map(storage).collect())
}
