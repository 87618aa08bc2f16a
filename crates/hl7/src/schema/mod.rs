//! The schema: what the fields of segments are called and may hold.
//!
//! A schema is a value. Overrides of extensions are laid over the base in the order of the extensions, each on the
//! result so far; an extension that ends is left out when the schema is made again.

mod base;
mod overrides;
mod validate;

use std::collections::BTreeMap;

use serde::Serialize;

pub use overrides::Overrides;
pub use validate::{Finding, Findings, MAX_FINDINGS, Rule};

/// The known properties of the fields of each segment.
///
/// ```
/// use bobbin_hl7::{Message, Overrides, Schema};
///
/// let (overrides, warnings) = Overrides::from_json(&serde_json::json!({
///     "segments": { "PID": { "fields": [{ "field": 18, "required": true, "maxlength": 10 }] } }
/// }));
/// assert!(warnings.is_empty());
/// let schema = Schema::base().with(&overrides);
///
/// let message = Message::parse("MSH|^~\\&|||||20260101||ADT^A01|1|P|2.5\rPID|||1||Roe")?;
/// let findings = schema.validate(&message).findings;
/// assert_eq!(findings[0].path, "PID.18".parse().ok());
/// # Ok::<(), bobbin_hl7::NotAMessage>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    segments: BTreeMap<String, Vec<FieldSchema>>,
}

/// The known properties of a field, or of a component of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FieldSchema {
    /// The field's number.
    pub field: u8,
    /// The component's number, if this is about a component.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<u8>,
    /// The known properties.
    #[serde(flatten)]
    pub properties: Properties,
}

/// The properties of a field. An absent property is not known or not restricted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Properties {
    /// The name of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A heading under which editors show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// A remark for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether it must have a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// The least number of characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minlength: Option<u32>,
    /// The largest number of characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maxlength: Option<u32>,
    /// A regular expression that the whole value matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The kind of text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datatype: Option<DataType>,
    /// The text that editors show in an empty field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// The codes that it may hold, each with its meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<BTreeMap<String, String>>,
    /// A text that editors offer as a beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// A kind of text that can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DataType {
    /// `YYYY[MM[DD]]`
    Date,
    /// `YYYY[MM[DD[HH[MM[SS[.S…]]]]]][±ZZZZ]`
    DateTime,
}

impl Schema {
    /// Returns the schema of common segments, after HL7 v2.5.1.
    pub fn base() -> Self {
        base::read()
    }

    /// Returns this schema with overrides laid over it.
    #[must_use]
    pub fn with(&self, overrides: &Overrides) -> Self {
        let mut merged = self.clone();
        for (name, fields) in &overrides.segments {
            let base = merged.segments.entry(name.clone()).or_default();
            overrides::merge(base, fields);
        }
        merged
    }

    /// Returns what is known about the fields of a segment, by field and component.
    pub fn segment(&self, name: &str) -> &[FieldSchema] {
        self.segments.get(name).map_or(&[], Vec::as_slice)
    }
}
