//! `workspace/config/*`: between the wire and the configuration files. Served if the server has them.
//!
//! `workspace/config/update` has no `clientRequestId`: a repeated request does the same, and its answer may have a key
//! in it.

use std::sync::Arc;

use crate::client::{Client, refuse};
use bobbin_agent_api::workspace_config::{
    self as service, ConfigChange, ConfigChangeError, ConfigEdit, ConfigLayer, ConfigOwner, ConfigValues,
    ConfigWrite, ConfigWriteError, ConfigWritten, Reload, WorkspaceConfig,
};
use bobbin_agent_api::{ConfigNews, ConfigValueNews};
use bobbin_core::{Broadcast, WireMessage};
use bobbin_model::UnixMillis;
use bobbin_native_wire::config::types::{
    ConfigBatchWriteParams, ConfigEditParams, ConfigField, ConfigFileLayer, ConfigLayerKind, ConfigLayerName,
    ConfigMergeStrategy, ConfigOrigin, ConfigOverridden, ConfigReadParams, ConfigReadResult, ConfigReload,
    ConfigSection, ConfigValueWriteParams, ConfigWriteResult, ConfigWriteStatus, DefaultApprovalPolicy,
    ProviderSetting, ProviderWire, WorkspaceConfigResult, WorkspaceConfigSchemaResult,
    WorkspaceConfigUpdateParams,
};
use bobbin_native_wire::mcp::types::WorkspaceConfigChangedNotification;
use bobbin_native_wire::{Nullable, RpcError};
use bobbin_peer::Responder;

use super::CONFIG_CHANGED;
use crate::call::NoParams;
use crate::convert::time;
use crate::message;

/// Most changes of one request.
const MAX_EDITS: usize = 256;

type Config = Arc<dyn WorkspaceConfig>;

pub(super) async fn schema(_: &Client, config: &Config, _: NoParams, responder: Responder) {
    let sections = (0..)
        .zip(config.schema().await)
        .map(|(order, section)| ConfigSection {
            section: section.name,
            order,
            path: section.path.map(|path| vec![path]),
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

pub(super) async fn read(_: &Client, config: &Config, params: ConfigReadParams, responder: Responder) {
    let read = match config.read().await {
        Ok(read) => read,
        Err(detail) => return refuse(responder, RpcError::internal_error(detail)),
    };
    let origins = read.origins.into_iter().filter_map(|(path, layer)| {
        let layer = read.layers.get(layer)?;
        Some((path, origin(layer)))
    });
    responder.ok(ConfigReadResult {
        config: read.config,
        origins: origins.collect(),
        layers: params.include_layers.then(|| {
            let layer = |layer: &ConfigLayer| ConfigFileLayer {
                name: origin(layer).name,
                version: layer.version.clone(),
                config: layer.config.clone(),
            };
            read.layers.iter().map(layer).collect()
        }),
    });
}

fn origin(layer: &ConfigLayer) -> ConfigOrigin {
    ConfigOrigin {
        name: ConfigLayerName {
            kind: match layer.owner {
                ConfigOwner::User => ConfigLayerKind::User,
                ConfigOwner::Workspace => ConfigLayerKind::Workspace,
            },
            file: layer.file.display().to_string(),
        },
        version: layer.version.clone(),
    }
}

pub(super) async fn write_value(
    client: &Client,
    config: &Config,
    params: ConfigValueWriteParams,
    responder: Responder,
) {
    let write = ConfigWrite {
        source: "config/value/write",
        edits: vec![edit(params.edit)],
        file: params.file_path.map(Into::into),
        expected_version: params.expected_version,
    };
    written(client, config, write, responder).await;
}

pub(super) async fn write_batch(
    client: &Client,
    config: &Config,
    params: ConfigBatchWriteParams,
    responder: Responder,
) {
    if params.edits.is_empty() || params.edits.len() > MAX_EDITS {
        let detail = format!("'edits' must have 1 to {MAX_EDITS} entries.");
        return refuse(responder, RpcError::invalid_params(detail));
    }
    let write = ConfigWrite {
        source: "config/batchWrite",
        edits: params.edits.into_iter().map(edit).collect(),
        file: params.file_path.map(Into::into),
        expected_version: params.expected_version,
    };
    written(client, config, write, responder).await;
}

async fn written(client: &Client, config: &Config, write: ConfigWrite, responder: Responder) {
    // The answer precedes `config/changed` (07 §7.2).
    let _news_wait = client.session.hold();
    answer(responder, config.write(write).await);
}

fn edit(params: ConfigEditParams) -> ConfigEdit {
    ConfigEdit {
        key_path: params.key_path.trim().to_owned(),
        value: params.value,
        merges: params.merge_strategy == ConfigMergeStrategy::Upsert,
    }
}

fn answer(responder: Responder, written: Result<ConfigWritten, ConfigWriteError>) {
    let written = match written {
        Ok(written) => written,
        Err(error) => {
            let code = match &error {
                ConfigWriteError::ReadOnly(_) => "configLayerReadonly",
                ConfigWriteError::VersionConflict => "configVersionConflict",
                ConfigWriteError::Invalid(_) => "configValidationError",
                ConfigWriteError::UnknownKey(_) => "configSchemaUnknownKey",
                ConfigWriteError::Unwritable(detail) => {
                    return refuse(responder, RpcError::internal_error(detail.clone()));
                }
            };
            return refuse(responder, RpcError::config_write(error.to_string(), code));
        }
    };
    let hidden = written.hidden_by.map(|(layer, value)| ConfigOverridden {
        message: format!("{} has another value, which counts.", layer.file.display()),
        overriding_layer: origin(&layer),
        effective_value: value,
    });
    responder.ok(ConfigWriteResult {
        status: match hidden {
            Some(_) => ConfigWriteStatus::OkOverridden,
            None => ConfigWriteStatus::Ok,
        },
        version: written.version,
        file_path: written.file.display().to_string(),
        overridden_metadata: hidden,
    });
}

/// Returns `config/changed` for news of the configuration.
pub(super) fn broadcast(news: &Broadcast, at: UnixMillis) -> Option<WireMessage> {
    let (source, regions) = if let Some(ConfigValueNews { source, keys, .. }) = news.get() {
        (*source, keys.clone())
    } else {
        let ConfigNews { source, regions } = news.get()?;
        let words: &[&str] = if regions.contains(&"plugins") {
            &["plugins", "skills", "mcp", "lsp", "hooks"]
        } else {
            regions
        };
        (*source, words.iter().map(|&word| word.to_owned()).collect())
    };
    let params = WorkspaceConfigChangedNotification {
        source: source.to_owned(),
        regions,
        changed_at: time(at),
    };
    Some(message(CONFIG_CHANGED, &params))
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
