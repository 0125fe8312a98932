//! The bodies that create and change entries, described by the record that they make.

use crate::entry::Record;
use crate::merge::{self, READ_ONLY};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::marker::PhantomData;
use utoipa::openapi::schema::{AdditionalProperties, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Object, ObjectBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// A record that is to be created: without what the server sets itself.
pub struct New<T>(pub T);

impl<'de, T: Record> Deserialize<'de> for New<T> {
    fn deserialize<D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        merge::create(&Map::deserialize(fields)?).map(Self).map_err(D::Error::custom)
    }
}

impl<T: Record + ToSchema> PartialSchema for New<T> {
    fn schema() -> RefOr<Schema> {
        let mut object = given::<T>();
        object.required = T::REQUIRED.iter().map(|name| (*name).to_owned()).collect();
        allow_null::<T>(&mut object);
        object.into()
    }
}

impl<T: Record + ToSchema> ToSchema for New<T> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("New{}", T::name()))
    }
}

/// A JSON merge patch of a record.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct Patch<T> {
    pub fields: Map<String, Value>,
    #[serde(skip)]
    record: PhantomData<T>,
}

impl<T: Record + ToSchema> PartialSchema for Patch<T> {
    fn schema() -> RefOr<Schema> {
        let mut object = given::<T>();
        object.required.clear();
        object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        allow_null::<T>(&mut object);
        object.into()
    }
}

/// Says that null is the same as no value, where none is needed.
fn allow_null<T: Record>(object: &mut Object) {
    for (name, property) in &mut object.properties {
        if !T::REQUIRED.contains(&name.as_str()) {
            *property = or_null(property.clone());
        }
    }
}

impl<T: Record + ToSchema> ToSchema for Patch<T> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("{}Patch", T::name()))
    }
}

/// Returns the schema of a record without what the server sets itself.
fn given<T: ToSchema>() -> Object {
    let RefOr::T(Schema::Object(mut object)) = T::schema() else { return Object::new() };
    object.properties.retain(|name, _| !READ_ONLY.contains(&name.as_str()));
    object
}

fn or_null(property: RefOr<Schema>) -> RefOr<Schema> {
    match property {
        RefOr::T(Schema::Object(mut object)) => {
            if let SchemaType::Type(own) = &object.schema_type {
                object.schema_type = SchemaType::from_iter([own.clone(), Type::Null]);
            }
            object.into()
        }
        other => OneOfBuilder::new().item(other).item(ObjectBuilder::new().schema_type(Type::Null)).into(),
    }
}
