//! Gateway tokens for users who have signed in here, so that one sign-in opens all services.

use super::{AccountError, Accounts};
use crate::records::User;
use base::token::{Claims, Route, Tokens};
use std::time::Duration;

/// A token without a grant, such as one of an earlier version, cannot be ended before.
const USER_TOKEN_LASTS: Duration = Duration::from_secs(10 * 60);

#[derive(Clone, Debug)]
pub struct GatewayTokenSettings {
    pub ttl: Duration,
    pub environment: &'static str,
}

pub struct GatewayToken {
    pub token: String,
    pub scopes: Vec<String>,
    pub lasts: Duration,
}

impl Accounts {
    /// Issues a gateway token for a user: an administrator's opens what `POST /auth/login` opens. Another user's has the
    /// rights of a guest and the scope `user`, which says that they are known here. It is refused once `grant` has ended; that
    /// of an administrator's program goes on until the record changes.
    pub async fn gateway_token(
        &self,
        user: &User,
        grant: Option<String>,
        for_program: bool,
        tokens: &Tokens,
        settings: &GatewayTokenSettings,
    ) -> Result<GatewayToken, AccountError> {
        let record = match user.is_admin {
            true => self.admins.find(&user.username).await?,
            false => None,
        };
        let (project_id, route, scopes, lasts) = match &record {
            Some(record) => (record.username.clone(), Route::Auth, vec!["admin"], settings.ttl),
            None => (user.id.clone(), Route::Core, vec!["guest", "user"], settings.ttl.min(USER_TOKEN_LASTS)),
        };
        let claims = Claims {
            project_id,
            route,
            scopes: scopes.into_iter().map(str::to_owned).collect(),
            environment: settings.environment.to_owned(),
            issued_by: tokens.issuer().to_owned(),
            username: record.is_none().then(|| user.username.clone()),
            grant: grant.filter(|_| record.is_none() || !for_program),
            generation: record.map(|record| record.generation()),
        };
        let token = tokens.issue(&claims, lasts)?;
        Ok(GatewayToken { token, scopes: claims.scopes, lasts })
    }
}
