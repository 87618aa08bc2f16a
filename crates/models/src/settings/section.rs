//! The members of a configuration file about models and their providers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Wire;
use crate::ModelFacts;

/// Models and their providers.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Section {
    /// The default model, as `PROVIDER/MODEL`; `offline` for none. With `Default`, the only key in the environment chooses one.
    #[schemars(extend("default" = "Default"))]
    pub(super) model: Option<String>,
    /// Models that answer, in order, when the provider of the usual one fails.
    #[schemars(length(max = 8))]
    pub(super) fallbacks: Option<Vec<String>>,
    /// Currency of all prices, as the three letters of ISO 4217, such as `EUR`. Shown beside costs.
    #[schemars(length(min = 3, max = 3))]
    pub(super) currency: Option<String>,
    /// Providers of models, by name.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 64))]
    pub(super) providers: BTreeMap<String, ProviderSection>,
    /// Address of a provider named `endpoint`, which has every model whose name has no provider.
    pub(super) end_point: Option<String>,
    /// The wire of `EndPoint`.
    #[schemars(extend("default" = "chat"))]
    pub(super) wire: Option<Wire>,
    /// Key for `EndPoint`.
    #[schemars(extend("x-secret" = true))]
    pub(super) api_key: Option<String>,
    /// Variable with the key for `EndPoint`.
    pub(super) api_key_env: Option<String>,
    /// File with the key for `EndPoint`.
    pub(super) api_key_file: Option<String>,
}

/// A provider of models.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ProviderSection {
    /// Its name for users.
    pub(super) display_name: Option<String>,
    /// Its wire.
    #[schemars(extend("default" = "chat"))]
    pub(super) wire: Option<Wire>,
    /// Address in front of the wire's path; a query stays. Needed, unless the provider is built in.
    pub(super) base_url: Option<String>,
    /// The key itself; used only if nobody else can read the file.
    #[schemars(extend("x-secret" = true))]
    pub(super) api_key: Option<String>,
    /// Variable with the key.
    pub(super) api_key_env: Option<String>,
    /// File with the key and nothing else, which nobody else can read.
    pub(super) api_key_file: Option<String>,
    /// Further headers of each request. Their values are treated as secrets; `authorization` replaces the key's.
    #[schemars(extend("x-secret" = true))]
    pub(super) headers: Option<BTreeMap<String, String>>,
    /// Names of models to offer beside those that the provider lists.
    pub(super) models: Option<Vec<String>>,
    /// Most tokens of a reply; the provider's own limit when left out.
    #[schemars(range(min = 1))]
    pub(super) max_output_tokens: Option<u64>,
    /// Whether the provider may search the web for its models; the wires `responses` and `messages` can.
    #[schemars(extend("default" = false))]
    pub(super) web_search: Option<bool>,
    /// Members of each request, which win over Bobbin's.
    pub(super) body: Option<Map<String, Value>>,
    /// Longest silence before a reply and in it, in seconds; more than a week counts as a week.
    #[schemars(range(min = 1), extend("default" = 180))]
    pub(super) idle_seconds: Option<u64>,
    /// Longest time for one reply, in seconds; more than a week counts as a week.
    #[schemars(range(min = 1), extend("default" = 3600))]
    pub(super) reply_seconds: Option<u64>,
    /// How often a request is tried; more than 10 counts as 10.
    #[schemars(range(min = 1), extend("default" = 4))]
    pub(super) attempts: Option<u64>,
    #[serde(flatten)]
    pub(super) facts: ModelFacts,
    /// The same of single models, by the provider's names for them.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 256))]
    pub(super) model_facts: BTreeMap<String, ModelFacts>,
}
