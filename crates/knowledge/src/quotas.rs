//! How many bytes of files owners may have.

use crate::tables::users::{self, Allowance};
use store::{StoreError, Tx};

/// The quotas of owners who have none of their own; none: no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quotas {
    /// Of a user, in bytes.
    pub user: Option<i64>,
    /// Of a space, in bytes.
    pub space: Option<i64>,
}

impl Quotas {
    /// Returns the quota of an owner, in bytes; none if there is no limit.
    pub async fn of(&self, tx: &mut Tx, owner_id: &str) -> Result<Option<i64>, StoreError> {
        let allowances = users::allowances(tx.conn(), &[owner_id]).await?;
        Ok(allowances.get(owner_id).and_then(|own| self.apply(own)))
    }

    /// Returns what an owner may have: its own quota, or the one of the settings.
    pub fn apply(&self, own: &Allowance) -> Option<i64> {
        let set = if own.is_space { self.space } else { self.user };
        own.quota.or(set)
    }
}
