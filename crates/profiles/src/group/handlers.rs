//! The requests about profiles.

use bobbin_model::{ServerOrigin, SubAgentRuntime};
use bobbin_native::client::{Client, refuse};
use bobbin_native_wire::handshake::types::EmptyParams;
use bobbin_native_wire::{RpcError, lenient};
use bobbin_peer::Responder;
use serde_json::Value;

use super::Feature;
use super::wire::{
    SubagentProfile, SubagentProfileDiagnostic, SubagentProfileEnabledParams, SubagentProfileNameParams,
    SubagentProfileRemoveResult, SubagentProfileResult, SubagentProfileUpsertParams,
    SubagentProfilesListResult, SubagentSettings, SubagentSettingsResult, SubagentSettingsUpdateParams,
};
use crate::configured::{ChangeError, MODEL, RESUMES, Setting, Shown};
use crate::settings::{NATIVE, Profile, ProfileDefinition, SubAgentSettings};

pub(super) async fn list(_: &Client, profiles: &Feature, _: EmptyParams, responder: Responder) {
    let looking = profiles.clone();
    if let Err(error) = tokio::task::spawn_blocking(move || looking.look_again()).await {
        tracing::error!(%error, "the programs of subagent profiles cannot be looked for");
    }
    let others = profiles.shown().into_iter().map(SubagentProfile::from);
    responder.ok(SubagentProfilesListResult {
        profiles: [native()].into_iter().chain(others).collect(),
        default_name: NATIVE.to_owned(),
        settings: profiles.settings().into(),
    });
}

pub(super) async fn upsert(
    client: &Client,
    profiles: &Feature,
    params: SubagentProfileUpsertParams,
    responder: Responder,
) {
    let definition: ProfileDefinition = match lenient::lenient(&params.definition) {
        Ok(definition) => definition,
        Err(error) => return refuse(responder, RpcError::profile_invalid(error.to_string())),
    };
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = |stored: Result<Shown, ChangeError>| match stored {
        Ok(shown) => first.ok(&SubagentProfileResult {
            profile: shown.into(),
        }),
        Err(error) => first.err(wire_error(error)),
    };
    profiles.upsert(params.name, definition, reply).await;
}

pub(super) async fn set_enabled(
    client: &Client,
    profiles: &Feature,
    params: SubagentProfileEnabledParams,
    responder: Responder,
) {
    if params.name.eq_ignore_ascii_case(NATIVE) {
        if params.enabled {
            return responder.ok(SubagentProfileResult { profile: native() });
        }
        return refuse(
            responder,
            RpcError::profile_protected(format!("'{NATIVE}' cannot be disabled.")),
        );
    }
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = |stored: Result<Shown, ChangeError>| match stored {
        Ok(shown) => first.ok(&SubagentProfileResult {
            profile: shown.into(),
        }),
        Err(error) => first.err(wire_error(error)),
    };
    profiles.set_enabled(params.name, params.enabled, reply).await;
}

pub(super) async fn remove(
    client: &Client,
    profiles: &Feature,
    params: SubagentProfileNameParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = |removed| match removed {
        Ok(()) => first.ok(&SubagentProfileRemoveResult { removed: true }),
        Err(error) => first.err(wire_error(error)),
    };
    profiles.remove(params.name, reply).await;
}

pub(super) async fn update(
    client: &Client,
    profiles: &Feature,
    params: SubagentSettingsUpdateParams,
    responder: Responder,
) {
    let resumes = params.external_cli_session_resume_enabled;
    let resumes = resumes.map(|resumes| (RESUMES, resumes.0.map(Value::from)));
    let said = |model: String| Some(model.trim().to_owned()).filter(|model| !model.is_empty());
    let model = params
        .model
        .map(|model| (MODEL, model.0.and_then(said).map(Value::from)));
    let settings: Vec<Setting> = resumes.into_iter().chain(model).collect();
    if settings.is_empty() {
        let detail = "One of 'externalCliSessionResumeEnabled' and 'model' is needed.";
        return refuse(responder, RpcError::invalid_params(detail));
    }
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = |stored: Result<SubAgentSettings, ChangeError>| match stored {
        Ok(settings) => first.ok(&SubagentSettingsResult {
            settings: settings.into(),
        }),
        Err(error) => first.err(wire_error(error)),
    };
    profiles.update(settings, reply).await;
}

/// Returns the profile that is always there.
fn native() -> SubagentProfile {
    let definition = ProfileDefinition {
        runtime: Some(SubAgentRuntime::Native),
        ..ProfileDefinition::default()
    };
    SubagentProfile {
        name: NATIVE.to_owned(),
        is_built_in: true,
        is_template: false,
        has_workspace_override: false,
        is_default: true,
        enabled: true,
        built_in_defaults: Some(definition.clone()),
        definition,
        diagnostic: SubagentProfileDiagnostic {
            enabled: true,
            binary_resolved: true,
            hidden_from_prompt: false,
            hidden_reason: None,
            warnings: Vec::new(),
        },
    }
}

impl From<Shown> for SubagentProfile {
    fn from(shown: Shown) -> Self {
        let Profile { name, definition } = shown.declared.config;
        Self {
            name,
            is_built_in: false,
            is_template: false,
            has_workspace_override: shown.declared.origin == ServerOrigin::Workspace,
            is_default: false,
            enabled: shown.enabled,
            built_in_defaults: None,
            diagnostic: SubagentProfileDiagnostic {
                enabled: shown.enabled,
                binary_resolved: shown.binary_resolved,
                hidden_from_prompt: shown.hidden.is_some(),
                hidden_reason: shown.hidden,
                warnings: definition.warnings(),
            },
            definition,
        }
    }
}

impl From<SubAgentSettings> for SubagentSettings {
    fn from(settings: SubAgentSettings) -> Self {
        Self {
            external_cli_session_resume_enabled: settings.resumes,
            model: settings.model,
        }
    }
}

fn wire_error(error: ChangeError) -> RpcError {
    match error {
        ChangeError::NotFound(name) => RpcError::profile_not_found(&name),
        ChangeError::Invalid(detail) => RpcError::profile_invalid(detail),
        ChangeError::Protected(detail) => RpcError::profile_protected(detail),
        ChangeError::Unwritable(detail) => RpcError::internal_error(detail),
    }
}
