//! What guests may do. A guest has a token that any client can get, without the scopes `admin` and `user`.

use crate::error::ApiError;
use crate::identity::Rank;
use base::token::Claims;
use strum::{EnumString, VariantNames};

pub const GUESTS_ARE_OFF: &str = "guests are not let in here: sign in";

/// The setting `GUESTS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = unknown)]
pub enum Guests {
    /// Guests may do all that the contract allows.
    #[default]
    Full,
    /// Guests may read, and may not create or start anything.
    Read,
    /// Guests are refused, also those with a token from before.
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
    Rank::of(claims) == Rank::Guest
}

fn unknown(text: &str) -> String {
    format!("`{text}` is not known: one of {}", Guests::VARIANTS.join(", "))
}
