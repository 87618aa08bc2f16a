//! Providers of models, and the steps of a login (20.6, 21.5).

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A provider as clients see it. It never has a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ProviderStatus {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) configured: bool,
    pub(crate) auth: ProviderAuth,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) login: Option<Login>,
    pub(crate) models: Vec<ProviderModel>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProviderAuth {
    pub(crate) status: AuthStatus,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<AuthSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) env_var: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AuthStatus {
    Authenticated,
    Unauthenticated,
    Local,
}

/// The source of a key. Clients offer a logout for `login` only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AuthSource {
    Config,
    Login,
    Env,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Login {
    pub(crate) methods: [LoginMethod; 1],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct LoginMethod {
    pub(crate) key: &'static str,
    pub(crate) label: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ProviderModel {
    pub(crate) id: String,
    pub(crate) capabilities: ModelCapabilities,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "so the protocol has them")]
pub(crate) struct ModelCapabilities {
    pub(crate) reason: bool,
    pub(crate) vision: bool,
    pub(crate) tools: bool,
    pub(crate) web_search: bool,
}

/// Result of `providers/list`.
#[derive(Debug, Serialize)]
pub(crate) struct ProvidersListResult<'a> {
    pub(crate) providers: &'a [ProviderStatus],
}

/// Params of `providers/login`.
#[derive(Debug, Deserialize)]
pub(crate) struct LoginParams {
    pub(crate) provider: String,
    pub(crate) method: Option<String>,
}

/// Params of `providers/loginInput`. `Debug` is left out, since they have a key.
#[derive(Deserialize)]
pub(crate) struct LoginInputParams {
    pub(crate) provider: String,
    /// Of any type, because an error of decoding would quote a value.
    pub(crate) data: Value,
}

/// Params of `providers/logout`.
#[derive(Debug, Deserialize)]
pub(crate) struct LogoutParams {
    pub(crate) provider: String,
}

/// The next step of a login.
#[derive(Debug, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub(crate) enum LoginAction {
    Input { fields: [InputField; 1] },
    Done,
}

#[derive(Debug, Serialize)]
pub(crate) struct InputField {
    pub(crate) key: &'static str,
    pub(crate) label: &'static str,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
}
