//! The id of a request in responses, in logs and at the services behind the gateway.

use base::Random;
use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

pub static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A UUID in its usual text form.
#[derive(Clone)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// Returns the client's id if it is a well-formed UUID, else a new one.
    pub fn of(headers: &HeaderMap, random: &Random) -> Self {
        let given = headers.get(&X_REQUEST_ID).filter(|value| is_uuid(value.as_bytes()));
        Self(given.cloned().unwrap_or_else(|| Self::header(random.uuid_v4())))
    }

    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    pub fn into_header(self) -> HeaderValue {
        self.0
    }

    fn header(id: Uuid) -> HeaderValue {
        let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
        let text = id.hyphenated().encode_lower(&mut text);
        HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
    }
}

fn is_uuid(text: &[u8]) -> bool {
    text.len() == uuid::fmt::Hyphenated::LENGTH && Uuid::try_parse_ascii(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_for(sent: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(&X_REQUEST_ID, HeaderValue::from_str(sent).unwrap());
        RequestId::of(&headers, &Random::seeded(1)).as_str().to_owned()
    }

    #[test]
    fn a_well_formed_id_is_kept_and_another_replaced() {
        let own = "6f0c2d8e-9f55-4c53-9c0a-1d2b3c4d5e6f";
        assert_eq!(id_for(own), own);
        for bad in ["", "x", "6f0c2d8e9f554c539c0a1d2b3c4d5e6f", "{6f0c2d8e-9f55-4c53-9c0a-1d2b3c4d5e6f}"] {
            assert_ne!(id_for(bad), bad);
            assert_eq!(id_for(bad).len(), 36);
        }
    }
}
