//! Requests that are refused before a service sees them, and the errors that all services send for them.

use http::StatusCode;

/// Why a request is refused before a service sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Malformed(&'static str),
    HeadTooLarge,
    HeadTimeout,
    /// The handler has panicked.
    Panicked,
}

impl Refusal {
    /// Returns status, code and message, the same for every service.
    pub fn describe(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::Malformed(why) => (StatusCode::BAD_REQUEST, "INVALID_REQUEST", why),
            Self::HeadTooLarge => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "HEADERS_TOO_LARGE",
                "the request's headers are more than 100 or longer than 32 KiB",
            ),
            Self::HeadTimeout => {
                (StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT", "the request's headers came too slowly")
            }
            Self::Panicked => {
                (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", "something went wrong inside")
            }
        }
    }
}
