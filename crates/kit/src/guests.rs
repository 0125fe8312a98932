//! What guests may do. A guest has a token without the scope `admin`, and everybody can get one.

use crate::error::ApiError;
use base::token::Claims;
use std::str::FromStr;

pub const GUESTS_ARE_OFF: &str = "guests are not let in here: sign in";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guests {
    /// All that the contract lets them do.
    #[default]
    Full,
    /// They see what there is, and make and start nothing.
    Read,
    /// They are not let in, also with a token from before.
    Off,
}

impl Guests {
    /// Refuses a guest, if none is let in.
    pub fn check_entry(self, claims: &Claims) -> Result<(), ApiError> {
        match self {
            Self::Off if is_guest(claims) => Err(ApiError::forbidden(GUESTS_ARE_OFF)),
            _ => Ok(()),
        }
    }
}

pub fn is_guest(claims: &Claims) -> bool {
    !claims.has_scope("admin")
}

impl FromStr for Guests {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "full" => Ok(Self::Full),
            "read" => Ok(Self::Read),
            "off" => Ok(Self::Off),
            _ => Err(format!("`{text}` is not known: one of full, read, off")),
        }
    }
}
