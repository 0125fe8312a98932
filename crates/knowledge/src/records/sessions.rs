//! Sessions.

/// What a user has from a sign-in until it is ended or expires. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub token_hash: String,
    /// What its gateway tokens rely on; empty before the first one.
    pub grant: String,
    /// 0 if an earlier version has made it.
    pub created_at: i64,
    pub last_used_at: i64,
    pub expires_at: i64,
    /// From where the user has signed in.
    pub address: String,
    /// As the browser has named itself.
    pub browser: String,
}
