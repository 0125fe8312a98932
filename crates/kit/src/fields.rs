//! Types of request fields that check themselves while they are parsed, and describe themselves in the document.

use base::iso8601;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Tells null from an absent field.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A whole number within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const LEAST: u64, const MOST: u64>(pub u64);

impl<const LEAST: u64, const MOST: u64> Whole<LEAST, MOST> {
    pub fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for Whole<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A query string has text, which it reads as the number that is asked for.
        deserializer.deserialize_f64(WholeVisitor::<LEAST, MOST>).map(Self)
    }
}

struct WholeVisitor<const LEAST: u64, const MOST: u64>;

impl<const LEAST: u64, const MOST: u64> Visitor<'_> for WholeVisitor<LEAST, MOST> {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "a whole number from {LEAST} to {MOST}")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        match (LEAST..=MOST).contains(&number) {
            true => Ok(number),
            false => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        // Floats beyond 2^53 are not exact: the largest bound is rounded up.
        match number.fract() == 0.0 && number >= LEAST as f64 && number as u64 <= MOST {
            true => Ok(number as u64),
            false => Err(E::invalid_value(Unexpected::Float(number), &self)),
        }
    }
}

impl<const LEAST: u64, const MOST: u64> PartialSchema for Whole<LEAST, MOST> {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Integer);
        number.minimum(Some(LEAST as f64)).maximum(Some(MOST as f64)).into()
    }
}

impl<const LEAST: u64, const MOST: u64> ToSchema for Whole<LEAST, MOST> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("Whole{LEAST}To{MOST}"))
    }
}

/// A time, in milliseconds since 1970; written in ISO 8601.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub i64);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&iso8601(self.0))
    }
}

impl PartialSchema for Time {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String);
        text.format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).into()
    }
}

impl ToSchema for Time {}

/// A text of so many bytes at least, without a NUL character, which PostgreSQL does not store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<const SHORTEST: usize = 1>(pub String);

/// A text that may be empty.
pub type AnyText = Text<0>;

impl<'de, const SHORTEST: usize> Deserialize<'de> for Text<SHORTEST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.len() < SHORTEST {
            return Err(D::Error::custom("is empty"));
        }
        if text.contains('\0') {
            return Err(D::Error::custom("has a NUL character"));
        }
        Ok(Self(text))
    }
}

impl<const SHORTEST: usize> PartialSchema for Text<SHORTEST> {
    fn schema() -> RefOr<Schema> {
        let shortest = Some(SHORTEST).filter(|shortest| *shortest > 0);
        ObjectBuilder::new().schema_type(Type::String).min_length(shortest).into()
    }
}

impl<const SHORTEST: usize> ToSchema for Text<SHORTEST> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed(if SHORTEST == 0 { "AnyText" } else { "Text" })
    }
}

impl<const SHORTEST: usize> Deref for Text<SHORTEST> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{from_fields, from_query};
    use serde_json::json;

    #[derive(Debug, Deserialize, utoipa::ToSchema, utoipa::IntoParams)]
    #[allow(dead_code, reason = "only read")]
    struct Fields {
        limit: Option<Whole<1, 100>>,
        name: Option<Text>,
        note: Option<AnyText>,
    }

    #[test]
    fn numbers_are_whole_and_within_bounds() {
        for (given, wanted) in [(json!(1), Some(1)), (json!(100.0), Some(100)), (json!(null), None)] {
            let fields: Fields = from_fields(json!({ "limit": given })).unwrap();
            assert_eq!(fields.limit.map(|limit| limit.0), wanted);
        }
        for wrong in [json!(0), json!(101), json!(1.5), json!(-1), json!("5"), json!([])] {
            let fault = from_fields::<Fields, _>(json!({ "limit": wrong })).unwrap_err();
            assert_eq!(fault.message, "`limit` is not a whole number from 1 to 100");
        }
        assert_eq!(from_query::<Fields>("limit=3&limit=7&name=").unwrap().limit, Some(Whole(7)));
    }

    #[test]
    fn texts_are_not_empty() {
        let fault = from_fields::<Fields, _>(json!({ "name": "" })).unwrap_err();
        assert_eq!(fault.message, "`name` is empty");
        assert_eq!(from_query::<Fields>("name=a+b").unwrap().name, Some(Text("a b".into())));
    }

    #[test]
    fn faults_of_texts_name_the_field() {
        for (given, fault) in [
            (json!({ "name": 7 }), "`name` is not a string"),
            (json!({ "name": "a\0" }), "`name` has a NUL character"),
            (json!({ "note": ["a"] }), "`note` is not a string"),
            (json!({ "note": "\0" }), "`note` has a NUL character"),
        ] {
            assert_eq!(from_fields::<Fields, _>(given).unwrap_err().message, fault);
        }
        let fields: Fields = from_fields(json!({ "note": "" })).unwrap();
        assert_eq!(fields.note.as_deref(), Some(""));
    }
}
