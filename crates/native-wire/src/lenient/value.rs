//! A serde deserializer over raw JSON that applies the leniency rules.
//!
//! It parses one level at a time and leaves deeper levels as borrowed text, so raw members stay unchanged. Recursion is
//! as deep as the type, never as deep as the input.

use std::borrow::Cow;
use std::fmt;
use std::vec;

use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Number;
use serde_json::value::RawValue;

use super::DecodeError;

/// The name by which `serde_json` requests raw text. Only the prefix is used; a test notices a change.
const RAW_TEXT_WANTED: &str = "$serde_json::private";

/// One JSON value, not yet parsed.
#[derive(Clone, Copy)]
pub(crate) struct Lenient<'de> {
    raw: &'de RawValue,
}

impl<'de> Lenient<'de> {
    pub(crate) fn new(raw: &'de RawValue) -> Self {
        Self { raw }
    }

    fn first_byte(self) -> u8 {
        self.raw.get().as_bytes().first().copied().unwrap_or_default()
    }

    fn is_string(self) -> bool {
        self.first_byte() == b'"'
    }

    fn text(self) -> Result<Cow<'de, str>, DecodeError> {
        let Text(text) = serde_json::from_str(self.raw.get()).map_err(|_| not_unicode())?;
        Ok(text)
    }

    fn visit_text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.text()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// Visits a number, or a text that spells one.
    fn visit_number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let spelled = if self.is_string() {
            self.text()?
        } else {
            Cow::Borrowed(self.raw.get())
        };
        let Ok(number) = serde_json::from_str::<Number>(spelled.trim()) else {
            return Err(DecodeError::expected(&visitor));
        };
        if let Some(number) = number.as_u64() {
            visitor.visit_u64(number)
        } else if let Some(number) = number.as_i64() {
            visitor.visit_i64(number)
        } else if let Some(number) = number.as_f64() {
            visitor.visit_f64(number)
        } else {
            Err(DecodeError::expected(&visitor))
        }
    }

    fn members(self, names: Names) -> Result<Members<'de>, DecodeError> {
        let members = serde_json::Deserializer::from_str(self.raw.get())
            .deserialize_map(Collect(names))
            .map_err(|_| not_unicode())?;
        Ok(Members {
            rest: members.into_iter(),
            current: None,
        })
    }
}

/// Text that is valid JSON can fail only here: an escape that is no Unicode text.
fn not_unicode() -> DecodeError {
    DecodeError::phrase("must be valid Unicode text")
}

impl<'de> Deserializer<'de> for Lenient<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.first_byte() {
            b'n' => visitor.visit_unit(),
            b't' => visitor.visit_bool(true),
            b'f' => visitor.visit_bool(false),
            b'"' => self.visit_text(visitor),
            b'{' => visitor.visit_map(self.members(Names::AsTheyAre)?),
            b'[' => {
                let elements: Vec<&RawValue> =
                    serde_json::from_str(self.raw.get()).map_err(|_| not_unicode())?;
                visitor.visit_seq(Elements {
                    rest: elements.into_iter().enumerate(),
                })
            }
            _ => self.visit_number(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.raw.get() == "null" {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if name.starts_with(RAW_TEXT_WANTED) {
            self.raw
                .deserialize_newtype_struct(name, visitor)
                .map_err(DecodeError::custom)
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        // The protocol has no arrays by position, though serde would accept them.
        if self.first_byte() == b'{' {
            visitor.visit_map(self.members(Names::Known(fields))?)
        } else {
            Err(DecodeError::expected(&visitor))
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if self.is_string() {
            let variant: StringDeserializer<DecodeError> = self.text()?.into_owned().into_deserializer();
            visitor.visit_enum(variant)
        } else {
            Err(DecodeError::invalid_type(Unexpected::Other("JSON"), &"a string"))
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_number(visitor)
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_number(visitor)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_number(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_number(visitor)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_number(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_number(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_number(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_number(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_number(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_number(visitor)
    }

    forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map identifier
    }
}

/// A text that borrows from the input if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The treatment of an object's member names.
#[derive(Clone, Copy)]
enum Names {
    /// Leave them: they are keys of a map.
    AsTheyAre,
    /// Match them without regard to case; drop unknown members and those that are `null`.
    Known(&'static [&'static str]),
}

struct Collect(Names);

impl<'de> Visitor<'de> for Collect {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Text(name), raw)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
            match self.0 {
                Names::AsTheyAre => members.push((name, raw)),
                Names::Known(fields) => {
                    let field = fields.iter().find(|field| field.eq_ignore_ascii_case(&name));
                    if let Some(field) = field.filter(|_| raw.get() != "null") {
                        members.push((Cow::Borrowed(*field), raw));
                    }
                }
            }
        }
        Ok(members)
    }
}

struct Members<'de> {
    rest: vec::IntoIter<(Cow<'de, str>, &'de RawValue)>,
    current: Option<(Cow<'de, str>, &'de RawValue)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        self.current = self.rest.next();
        let key = match &self.current {
            None => return Ok(None),
            Some((Cow::Borrowed(name), _)) => seed.deserialize(BorrowedStrDeserializer::new(name)),
            Some((Cow::Owned(name), _)) => seed.deserialize(name.as_str().into_deserializer()),
        };
        key.map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DecodeError> {
        let Some((name, raw)) = self.current.take() else {
            return Err(DecodeError::custom("a value was asked for before its name"));
        };
        seed.deserialize(Lenient::new(raw))
            .map_err(|error| error.inside(&name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Elements<'de> {
    rest: std::iter::Enumerate<vec::IntoIter<&'de RawValue>>,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        let Some((index, raw)) = self.rest.next() else {
            return Ok(None);
        };
        seed.deserialize(Lenient::new(raw))
            .map(Some)
            .map_err(|error| error.inside(&format!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}
