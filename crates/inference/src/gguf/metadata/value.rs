//! One metadata value: its type and its range in the header, found when the file is opened.

use std::ops::Range;

use super::super::header::Header;
use crate::ModelError;

/// Files in use have no nested arrays at all.
const MAX_NESTING: u32 = 4;

#[derive(Debug, Clone)]
pub struct Value {
    kind: Kind,
    place: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scalar(Scalar),
    Text,
    Scalars(Scalar),
    Texts,
    Arrays,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scalar {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
    Bool,
}

const TEXT: u32 = 8;
const ARRAY: u32 = 9;

pub fn skip_value(header: &mut Header) -> Result<Value, ModelError> {
    let (kind, place) = match header.u32()? {
        TEXT => (Kind::Text, header.skip_text()?),
        ARRAY => skip_array(header, 0)?,
        id => {
            let scalar = Scalar::from_id(id)?;
            (Kind::Scalar(scalar), header.skip(scalar.len() as u64)?)
        }
    };
    Ok(Value { kind, place })
}

fn skip_array(header: &mut Header, depth: u32) -> Result<(Kind, Range<usize>), ModelError> {
    if depth >= MAX_NESTING {
        return Err(ModelError::malformed(format!("metadata arrays nested more than {MAX_NESTING} deep")));
    }
    let item = header.u32()?;
    let count = header.u64()?;
    let start = header.position();
    let kind = match item {
        TEXT => {
            for _ in 0..count {
                header.skip_text()?;
            }
            Kind::Texts
        }
        ARRAY => {
            for _ in 0..count {
                skip_array(header, depth + 1)?;
            }
            Kind::Arrays
        }
        id => {
            let scalar = Scalar::from_id(id)?;
            header.skip(count.saturating_mul(scalar.len() as u64))?;
            Kind::Scalars(scalar)
        }
    };
    Ok((kind, start..header.position()))
}

impl Value {
    pub fn as_str<'a>(&self, header: &'a [u8]) -> Option<&'a str> {
        let text = (self.kind == Kind::Text).then(|| &header[self.place.clone()])?;
        std::str::from_utf8(text).ok()
    }

    pub fn as_integer<T: TryFrom<i128>>(&self, header: &[u8]) -> Option<T> {
        let Kind::Scalar(scalar) = self.kind else { return None };
        T::try_from(scalar.integer(&header[self.place.clone()])?).ok()
    }

    pub fn as_f32(&self, header: &[u8]) -> Option<f32> {
        let Kind::Scalar(scalar) = self.kind else { return None };
        let bytes = &header[self.place.clone()];
        match scalar {
            Scalar::F32 => Some(f32::from_bits(unsigned(bytes) as u32)),
            Scalar::F64 => Some(f64::from_bits(unsigned(bytes)) as f32),
            _ => scalar.integer(bytes).map(|integer| integer as f32),
        }
    }

    pub fn as_bool(&self, header: &[u8]) -> Option<bool> {
        (self.kind == Kind::Scalar(Scalar::Bool)).then(|| header[self.place.start] != 0)
    }

    pub fn strings<'a>(&self, header: &'a [u8]) -> Option<Vec<&'a str>> {
        if self.kind != Kind::Texts {
            return None;
        }
        let mut rest = &header[self.place.clone()];
        let mut strings = Vec::new();
        while let Some((len, tail)) = rest.split_at_checked(8) {
            let (text, tail) = tail.split_at_checked(unsigned(len) as usize)?;
            strings.push(std::str::from_utf8(text).ok()?);
            rest = tail;
        }
        Some(strings)
    }

    pub fn array<T>(&self, header: &[u8], decode: impl Fn(&Value, &[u8]) -> Option<T>) -> Option<Vec<T>> {
        let Kind::Scalars(scalar) = self.kind else { return None };
        let starts = self.place.clone().step_by(scalar.len());
        starts
            .map(|start| {
                decode(&Value { kind: Kind::Scalar(scalar), place: start..start + scalar.len() }, header)
            })
            .collect()
    }
}

impl Scalar {
    fn from_id(id: u32) -> Result<Self, ModelError> {
        Ok(match id {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::U16,
            3 => Self::I16,
            4 => Self::U32,
            5 => Self::I32,
            6 => Self::F32,
            7 => Self::Bool,
            10 => Self::U64,
            11 => Self::I64,
            12 => Self::F64,
            other => return Err(ModelError::malformed(format!("metadata type {other}: one of 0 to 12"))),
        })
    }

    fn len(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    fn integer(self, bytes: &[u8]) -> Option<i128> {
        let unsigned = unsigned(bytes);
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Some(i128::from(unsigned)),
            Self::I8 => Some(i128::from(unsigned as i8)),
            Self::I16 => Some(i128::from(unsigned as i16)),
            Self::I32 => Some(i128::from(unsigned as i32)),
            Self::I64 => Some(i128::from(unsigned.cast_signed())),
            Self::F32 | Self::F64 | Self::Bool => None,
        }
    }
}

fn unsigned(little_endian: &[u8]) -> u64 {
    little_endian.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
