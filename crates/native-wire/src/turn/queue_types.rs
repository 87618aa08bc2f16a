//! Inputs that wait for their Turn.
//!
//! AppServer protocol 03 §4.

use bobbin_model::{Person, QueueStatus, Sender};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::Timestamp;
use crate::turn::input_types::InputPart;

/// One waiting input.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedTurnInput {
    /// Its id.
    pub id: String,
    /// The Thread it waits in.
    pub thread_id: String,
    /// As the user gave it.
    pub native_input_parts: Vec<InputPart>,
    /// As the model gets it.
    pub materialized_input_parts: Vec<InputPart>,
    /// One line that sums it up.
    pub display_text: String,
    /// Who gave it.
    pub sender: Option<Sender>,
    /// Extension: the person who gave it, as the server has authenticated them. Absent for the user of the server.
    pub actor: Option<Person>,
    /// The client's own id of it.
    pub client_user_message_id: Option<String>,
    /// Whether it waits for a Turn of its own or for a boundary in the running one.
    pub status: QueueStatus,
    /// When it was given.
    pub created_at: Timestamp,
    /// The Turn that ran then.
    pub ready_after_turn_id: Option<String>,
}
