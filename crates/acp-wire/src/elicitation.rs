//! Questions of the agent to the user: forms, and addresses to open.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The parameters of `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElicitationParams {
    /// The question.
    pub message: String,
    /// Its scope.
    #[serde(flatten)]
    pub scope: ElicitationScope,
    /// How it is asked.
    #[serde(flatten)]
    pub mode: ElicitationMode,
}

/// The owner of a question: a session, or a request outside of one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationScope {
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The session's tool call that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The id of the request, as its sender wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Value>,
}

/// How a question is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ElicitationMode {
    /// By a form.
    Form {
        /// Its fields.
        requested_schema: FormSchema,
    },
    /// By an address that the user opens.
    Url {
        /// The question's id, for `elicitation/complete`.
        elicitation_id: String,
        /// The address.
        url: String,
    },
    /// In another way. It is never written.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// The fields of a form.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FormSchema {
    /// Always an object.
    #[serde(rename = "type", default)]
    pub kind: FormType,
    /// The fields, by name.
    #[serde(default)]
    pub properties: Map<String, Value>,
    /// The fields that must be filled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// The form's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// More about the form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The type of a form's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormType {
    /// The only one.
    #[default]
    Object,
}

/// One field of a form; the values of [`FormSchema::properties`] are of this type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Property {
    /// Its name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its value before the user changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Which values it takes.
    #[serde(flatten)]
    pub kind: PropertyKind,
}

/// Which values a field takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PropertyKind {
    /// A text.
    String {
        /// Its shortest length in characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_length: Option<u32>,
        /// Its greatest length in characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_length: Option<u32>,
        /// A regular expression that it matches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
        /// `email`, `uri`, `date` or `date-time`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<String>,
        /// The texts to choose from.
        #[serde(rename = "enum", default, skip_serializing_if = "Option::is_none")]
        values: Option<Vec<String>>,
        /// The texts to choose from, with names.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        one_of: Option<Vec<Choice>>,
    },
    /// A number.
    Number {
        /// The smallest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        minimum: Option<f64>,
        /// The greatest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maximum: Option<f64>,
    },
    /// A number without a fraction.
    Integer {
        /// The smallest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        minimum: Option<i64>,
        /// The greatest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maximum: Option<i64>,
    },
    /// Yes or no.
    Boolean {},
    /// Several texts of a list.
    Array {
        /// The texts to choose from.
        items: ItemSchema,
        /// At least so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_items: Option<u32>,
        /// At most so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_items: Option<u32>,
    },
    /// A field of another type. It is never written.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// The texts that a field of several texts takes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemSchema {
    /// `string`, together with [`ItemSchema::values`].
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The texts.
    #[serde(rename = "enum", default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
    /// The texts, with names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any_of: Option<Vec<Choice>>,
}

/// A text to choose, with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The text.
    #[serde(rename = "const")]
    pub value: String,
    /// Its name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The answer of `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElicitationResult {
    /// The user's action.
    pub action: ElicitationAction,
    /// The fields with their values, of an accepted form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}

/// The action of a user who got a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElicitationAction {
    /// Answered it.
    Accept,
    /// Said no.
    Decline,
    /// Closed it; unknown actions count as this one.
    #[serde(other)]
    Cancel,
}

/// The parameters of the notification `elicitation/complete`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationCompleteNotification {
    /// The question's id.
    pub elicitation_id: String,
}
