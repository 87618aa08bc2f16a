//! The choices of a user in a session: modes, options, models.

use serde::{Deserialize, Serialize};

/// The modes of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionModeState {
    /// The mode that is on.
    pub current_mode_id: String,
    /// All modes.
    pub available_modes: Vec<SessionMode>,
}

/// One mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMode {
    /// Its name for programs.
    pub id: String,
    /// Its name for users.
    pub name: String,
    /// Its effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The parameters of `session/set_mode`. Its answer is [`crate::Empty`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetModeParams {
    /// The session.
    pub session_id: String,
    /// The mode.
    pub mode_id: String,
}

/// One option of a session, with its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigOption {
    /// Its name for programs.
    pub id: String,
    /// Its name for users.
    pub name: String,
    /// Its effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<OptionCategory>,
    /// Its value and the values to choose from.
    #[serde(flatten)]
    pub kind: OptionKind,
}

/// The subject of an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionCategory {
    /// How the agent works.
    Mode,
    /// Which model answers.
    Model,
    /// A setting of the model.
    ModelConfig,
    /// How much the model thinks.
    ThoughtLevel,
    /// A category of the agent's own; it starts with an underscore.
    #[serde(untagged)]
    Own(String),
}

/// The value of an option and the values to choose from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum OptionKind {
    /// One of a list.
    Select {
        /// The value that counts.
        current_value: String,
        /// All values.
        options: Vec<SelectEntry>,
    },
    /// On or off. Only for clients that offered it.
    Boolean {
        /// The value that counts.
        current_value: bool,
    },
    /// An option of another type. It is never written.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// One entry of a selection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SelectEntry {
    /// Values under one heading.
    Group(OptionGroup),
    /// One value.
    Choice(SelectChoice),
}

/// Values under one heading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionGroup {
    /// The group's name for programs.
    pub group: String,
    /// The heading.
    pub name: String,
    /// Its values.
    pub options: Vec<SelectChoice>,
}

/// One value of a selection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectChoice {
    /// The value.
    pub value: String,
    /// Its name for users.
    pub name: String,
    /// Its effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The parameters of `session/set_config_option`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOptionParams {
    /// The session.
    pub session_id: String,
    /// The option.
    pub config_id: String,
    /// Its new value.
    #[serde(flatten)]
    pub value: OptionValue,
}

/// The value that a client chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// Of a selection.
    Select {
        /// A [`SelectChoice::value`].
        value: String,
    },
    /// Of an option that is on or off.
    Boolean {
        /// Says that it is one: `boolean`.
        #[serde(rename = "type")]
        kind: String,
        /// The value.
        value: bool,
    },
}

/// The answer of `session/set_config_option`: all options, as they are now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOptionResult {
    /// All options.
    pub config_options: Vec<ConfigOption>,
}

/// The models of a session, as some agents still send them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelState {
    /// The model that answers.
    pub current_model_id: String,
    /// All models.
    pub available_models: Vec<ModelInfo>,
}

/// One model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// Its name for programs.
    pub model_id: String,
    /// Its name for users.
    pub name: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The parameters of `session/set_model`, as some clients still send it. Its answer is [`crate::Empty`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetModelParams {
    /// The session.
    pub session_id: String,
    /// The model.
    pub model_id: String,
}
