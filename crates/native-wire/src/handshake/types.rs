//! The handshake: `initialize`, `initialized`, and the shapes that several methods share.
//!
//! AppServer protocol 01 §4.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;

use crate::handshake::capabilities::{ClientCapabilities, ServerCapabilities};
use bobbin_model::{Json, Person};

/// The version of the protocol that this crate describes.
pub const PROTOCOL_VERSION: &str = "1";

/// Params of `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// Who is connecting.
    pub client_info: ClientInfo,
    /// What the client can do; fixed for the life of the connection.
    #[serde(default)]
    pub capabilities: ClientCapabilities,
}

/// Who is connecting.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Machine name of the client.
    pub name: String,
    /// Display name.
    pub title: Option<String>,
    /// Version of the client.
    pub version: String,
}

/// Result of `initialize`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// Who answers.
    pub server_info: ServerInfo,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// Address of the local dashboard when one is served.
    pub dashboard_url: Option<String>,
    /// Extension: the person on whose behalf the client acts, and their role. Absent for the user of the server.
    pub actor: Option<Person>,
}

/// Who answers.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// Machine name of the server.
    pub name: String,
    /// Version of the server.
    pub version: String,
    /// The version of the protocol, one integer as text.
    pub protocol_version: String,
    /// Extension namespaces that are available.
    pub extensions: Option<Vec<String>>,
}

/// Params of messages that have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct EmptyParams {}

/// Result of requests whose success says everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct EmptyResult {}

/// Params of `$/cancelRequest`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CancelRequestParams {
    /// The id of the request to cancel, as it was sent.
    pub id: Json,
}

/// Extension: a client's own id for a request that changes something.
///
/// Same id and same body: done once, same answer. Same id and another body: an error.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ClientRequestId(String);

impl ClientRequestId {
    /// Most characters an id may have.
    pub const MAX_CHARS: usize = 128;

    /// Wraps an id of 1 to 128 characters; `None` for any other text.
    pub fn new(id: impl Into<String>) -> Option<Self> {
        let id = id.into();
        // An id of n characters has at least n bytes, so most texts need no counting.
        let fits = id.len() <= Self::MAX_CHARS || id.chars().nth(Self::MAX_CHARS).is_none();
        (!id.is_empty() && fits).then_some(Self(id))
    }

    /// Returns the id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ClientRequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(text).ok_or_else(|| {
            de::Error::invalid_value(Unexpected::Other("text"), &"a string of 1 to 128 characters")
        })
    }
}

impl JsonSchema for ClientRequestId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ClientRequestId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": Self::MAX_CHARS })
    }
}
