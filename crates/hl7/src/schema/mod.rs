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

/// Schema of a field or component.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "HermesField")
)]
pub struct FieldSchema {
    /// Its number.
    pub field: u8,
    /// The number of the component.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<u8>,
    /// The known properties.
    #[serde(flatten)]
    pub properties: Properties,
}

/// The properties of a field. An absent property is not known or not restricted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Properties {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// A remark.
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
    /// A regular expression for the whole value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Its data type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datatype: Option<DataType>,
    /// Text that an empty field shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// Its codes with their meanings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<BTreeMap<String, String>>,
    /// Text that editors offer to start with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// Data type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "HermesDataType")
)]
#[serde(rename_all = "lowercase")]
pub enum DataType {
    /// A date.
    // `YYYY[MM[DD]]`
    Date,
    /// A date with a time.
    // `YYYY[MM[DD[HH[MM[SS[.S…]]]]]][±ZZZZ]`
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
