//! `skills/*`: what agents can look at when it is of use (AppServer protocol 05 §4). Served where there is somebody
//! who keeps them. Files are read in tasks that end with the connection.
//!
//! `skills/setEnabled` and `skills/uninstall` take no name of a request: sent twice, the one does the same and the other
//! finds nothing. Nothing is ever adapted for a workspace, so `skills/restoreOriginal` finds the original.

use std::collections::BTreeMap;
use std::sync::Arc;

use bobbin_core::Notice;
use bobbin_peer::{CallContext, Responder};
use bobbin_prompts::{PromptError, Prompts, Skill, Source};
use bobbin_wire as wire;
use bobbin_wire::RpcError;
use bobbin_wire::method::request as method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Client, params, refuse};
use crate::errors;

/// Regions of the configuration that clients read again.
const REGIONS: &[&str] = &["skills"];

/// Does blocking work with the skills and answers with what it returns, in a task of its own.
fn work<P, R>(
    client: &Client,
    request: &CallContext,
    responder: Responder,
    work: impl FnOnce(&Prompts, P) -> Result<R, PromptError> + Send + 'static,
) where
    P: DeserializeOwned + Send + 'static,
    R: Serialize + Send + 'static,
{
    if let Some((prompts, params, responder)) = given::<P>(client, request, responder) {
        client.reads.spawn(answered(prompts, params, responder, work));
    }
}

/// Does as [`work`] and tells everybody when it was done, before the connection's next request is served.
async fn change<P, R>(
    client: &Client,
    request: &CallContext,
    responder: Responder,
    source: &'static str,
    done: impl FnOnce(&Prompts, P) -> Result<R, PromptError> + Send + 'static,
) where
    P: DeserializeOwned + Send + 'static,
    R: Serialize + Send + 'static,
{
    let hub = client.hub().clone();
    let Some((prompts, params, responder)) = given::<P>(client, request, responder) else {
        return;
    };
    let done = move |prompts: &Prompts, params| {
        let result = done(prompts, params)?;
        hub.announce(Notice::ConfigChanged {
            source,
            regions: REGIONS,
        });
        Ok(result)
    };
    answered(prompts, params, responder, done).await;
}

/// Returns who keeps the skills and what is asked, or answers why not.
fn given<P: DeserializeOwned>(
    client: &Client,
    request: &CallContext,
    responder: Responder,
) -> Option<(Arc<Prompts>, P, Responder)> {
    let Some(prompts) = client.services().prompts.clone() else {
        refuse(responder, RpcError::method_not_found(&request.method));
        return None;
    };
    let (params, responder) = params::<P>(request, responder)?;
    Some((prompts, params, responder))
}

async fn answered<P, R>(
    prompts: Arc<Prompts>,
    params: P,
    responder: Responder,
    work: impl FnOnce(&Prompts, P) -> Result<R, PromptError> + Send + 'static,
) where
    P: Send + 'static,
    R: Serialize + Send + 'static,
{
    match tokio::task::spawn_blocking(move || work(&prompts, params)).await {
        Ok(Ok(result)) => responder.ok(result),
        Ok(Err(error)) => refuse(responder, errors::of_prompt(&error)),
        Err(error) => {
            tracing::error!(%error, "work with skills ended badly");
            let error = RpcError::internal_error("The skills could not be worked with.");
            refuse(responder, error);
        }
    }
}

pub(super) fn list(client: &Client, request: &CallContext, responder: Responder) {
    work(
        client,
        request,
        responder,
        |prompts, asked: wire::SkillsListParams| {
            let all = asked.include_unavailable.unwrap_or(true);
            let skills = prompts.skills().into_iter();
            let wanted = skills.filter(|skill| all || skill.unavailable.is_none());
            Ok(wire::SkillsListResult {
                skills: wanted.map(info).collect(),
            })
        },
    );
}

pub(super) fn read(client: &Client, request: &CallContext, responder: Responder) {
    work(client, request, responder, |prompts, asked: wire::SkillParams| {
        let text = prompts.skill_text(&asked.name)?;
        Ok(wire::SkillsReadResult {
            name: asked.name,
            content: text.source,
            metadata: some(text.metadata),
        })
    });
}

pub(super) fn view(client: &Client, request: &CallContext, responder: Responder) {
    work(client, request, responder, |prompts, asked: wire::SkillParams| {
        let text = prompts.skill_text(&asked.name)?;
        Ok(wire::SkillsViewResult {
            name: asked.name,
            content: text.body,
        })
    });
}

pub(super) fn restore_original(client: &Client, request: &CallContext, responder: Responder) {
    work(client, request, responder, |prompts, asked: wire::SkillParams| {
        prompts.skill(&asked.name)?;
        Ok(wire::SkillsRestoreOriginalResult {
            name: asked.name,
            restored: false,
        })
    });
}

pub(super) async fn set_enabled(client: &Client, request: &CallContext, responder: Responder) {
    let switch = |prompts: &Prompts, asked: wire::SkillsSetEnabledParams| {
        let skill = prompts.enable_skill(&asked.name, asked.enabled)?;
        Ok(wire::SkillsSetEnabledResult { skill: info(skill) })
    };
    change(client, request, responder, method::SKILLS_SET_ENABLED, switch).await;
}

pub(super) async fn uninstall(client: &Client, request: &CallContext, responder: Responder) {
    let remove = |prompts: &Prompts, asked: wire::SkillParams| {
        let removed = prompts.remove_skill(&asked.name)?;
        Ok(wire::SkillsUninstallResult {
            name: asked.name,
            uninstalled: true,
            source: source(removed.source),
            removed_source_path: removed.directory.to_string_lossy().into_owned(),
            removed_variant_count: 0,
        })
    };
    change(client, request, responder, method::SKILLS_UNINSTALL, remove).await;
}

fn info(skill: Skill) -> wire::SkillInfo {
    wire::SkillInfo {
        name: skill.name,
        description: skill.description,
        display_name: skill.display_name,
        short_description: skill.short_description,
        default_prompt: skill.default_prompt,
        source: source(skill.source),
        available: skill.unavailable.is_none(),
        unavailable_reason: skill.unavailable,
        enabled: skill.enabled,
        path: skill.path.to_string_lossy().into_owned(),
        metadata: some(skill.metadata),
    }
}

fn source(source: Source) -> wire::SkillSource {
    match source {
        Source::Workspace => wire::SkillSource::Workspace,
        Source::User => wire::SkillSource::User,
    }
}

fn some(metadata: BTreeMap<String, Value>) -> Option<BTreeMap<String, Value>> {
    (!metadata.is_empty()).then_some(metadata)
}
