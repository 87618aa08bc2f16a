//! `workspace/config/*`: between the wire and the configuration files. Served if the server has them.
//!
//! `workspace/config/update` has no `clientRequestId`: a repeated request does the same, and its answer may have a key
//! in it.

use std::sync::Arc;

use crate::client::{Client, refuse};
use bobbin_agent_api::workspace_config::{
    self as service, ConfigChange, ConfigChangeError, ConfigValues, Reload, WorkspaceConfig,
};
use bobbin_peer::Responder;
use serde::de::IgnoredAny;

use crate::groups::config::types::{
    ConfigField, ConfigReload, ConfigSection, DefaultApprovalPolicy, ProviderSetting, ProviderWire,
    WorkspaceConfigResult, WorkspaceConfigSchemaResult, WorkspaceConfigUpdateParams,
};
use crate::wire::{Nullable, RpcError};

type Config = Arc<dyn WorkspaceConfig>;

pub(super) async fn schema(_: &Client, config: &Config, _: IgnoredAny, responder: Responder) {
    let sections = (0..)
        .zip(config.schema().await)
        .map(|(order, section)| ConfigSection {
            section: section.name,
            order,
            path: section.path,
            fields: section.fields.into_iter().map(field).collect(),
        });
    responder.ok(WorkspaceConfigSchemaResult {
        sections: sections.collect(),
    });
}

fn field(field: service::ConfigField) -> ConfigField {
    ConfigField {
        key: field.key,
        kind: field.kind.to_owned(),
        sensitive: field.sensitive,
        options: Some(field.options).filter(|options| !options.is_empty()),
        min: field.min,
        max: field.max,
        hint: field.hint,
        reload: match field.reload {
            Reload::Hot => ConfigReload::Hot,
            Reload::ProcessRestart => ConfigReload::ProcessRestart,
        },
        default_value: field.default,
        value: field.value,
    }
}

pub(super) async fn update(
    _: &Client,
    config: &Config,
    params: WorkspaceConfigUpdateParams,
    responder: Responder,
) {
    let change = change(params);
    let nothing = ConfigChange {
        for_all_folders: change.for_all_folders,
        ..ConfigChange::default()
    };
    if change == nothing {
        let detail = "One of 'model', 'apiKey', 'endPoint', 'welcomeSuggestionsEnabled', 'skillsSelfLearningEnabled', \
                      'memoryAutoConsolidateEnabled', 'defaultApprovalPolicy' and 'provider' is needed.";
        return refuse(responder, RpcError::invalid_params(detail));
    }
    match config.update(change).await {
        Ok(values) => responder.ok(result(values)),
        Err(ConfigChangeError::Unusable(detail)) => refuse(responder, RpcError::invalid_params(detail)),
        Err(ConfigChangeError::Unwritable(detail)) => refuse(responder, RpcError::internal_error(detail)),
    }
}

fn change(params: WorkspaceConfigUpdateParams) -> ConfigChange {
    let text = |value: Option<Nullable<String>>| {
        let said = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        value.map(|value| value.0.and_then(said))
    };
    let flag = |value: Option<Nullable<bool>>| value.map(|value| value.0);
    let is_named = |name: &String| !name.eq_ignore_ascii_case("default");
    ConfigChange {
        model: text(params.model).map(|model| model.filter(is_named)),
        api_key: text(params.api_key),
        end_point: text(params.end_point),
        welcome_suggestions: flag(params.welcome_suggestions_enabled),
        skills_self_learning: flag(params.skills_self_learning_enabled),
        memory_auto_consolidate: flag(params.memory_auto_consolidate_enabled),
        default_approval_policy: params.default_approval_policy.map(|policy| policy.0.map(spelled)),
        provider: params.provider.map(provider),
        for_all_folders: params.save_user_config,
    }
}

fn provider(provider: ProviderSetting) -> service::ProviderChange {
    let said = |text: Option<String>| {
        let text = text.map(|text| text.trim().to_owned());
        text.filter(|text| !text.is_empty())
    };
    service::ProviderChange {
        name: provider.name.trim().to_owned(),
        wire: provider.wire.map(|wire| match wire {
            ProviderWire::Chat => service::ProviderWire::Chat,
            ProviderWire::Responses => service::ProviderWire::Responses,
            ProviderWire::Messages => service::ProviderWire::Messages,
        }),
        base_url: said(provider.base_url),
        api_key: said(provider.api_key),
    }
}

/// Returns a policy in the spelling of the files.
fn spelled(policy: DefaultApprovalPolicy) -> &'static str {
    match policy {
        DefaultApprovalPolicy::Default => "default",
        DefaultApprovalPolicy::AutoApprove => "autoApprove",
        DefaultApprovalPolicy::Sandboxed => "sandboxed",
        DefaultApprovalPolicy::Automatic => "automatic",
        DefaultApprovalPolicy::AskWrites => "askWrites",
    }
}

fn result(values: ConfigValues) -> WorkspaceConfigResult {
    WorkspaceConfigResult {
        model: Nullable(values.model),
        api_key: Nullable(values.api_key),
        end_point: Nullable(values.end_point),
        welcome_suggestions_enabled: Nullable(values.welcome_suggestions),
        skills_self_learning_enabled: Nullable(values.skills_self_learning),
        memory_auto_consolidate_enabled: Nullable(values.memory_auto_consolidate),
        default_approval_policy: Nullable(values.default_approval_policy),
    }
}
