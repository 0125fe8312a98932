//! Links that administrators hand out.

/// Opens an account: an invitation makes one, another link sets the password of one. Times are in milliseconds since
/// 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountLink {
    pub token_hash: String,
    /// Whose password it sets; none for an invitation.
    pub user_id: Option<String>,
    /// Whom the administrator has in mind; may be empty.
    pub name: String,
    /// The email address that the new account gets; empty if the invited person chooses one.
    pub email: String,
    /// The id of the administrator who has made it.
    pub created_by: String,
    pub created_at: i64,
    pub expires_at: i64,
}
