//! `skills/*`: instructions that agents read when they are of use (AppServer protocol 05 §4). Served if the server has
//! prompts. Tasks that end with the connection read the files.
//!
//! `skills/setEnabled` and `skills/uninstall` have no `clientRequestId`: repeated, the first does the same and the
//! second finds nothing. No skill is ever adapted for a workspace, so `skills/restoreOriginal` always finds the
//! original.

use std::collections::BTreeMap;
use std::sync::Arc;

use bobbin_agent_api::ConfigNews;
use bobbin_native_wire::RpcError;
use bobbin_native_wire::skills::types::{
    SkillInfo, SkillParams, SkillSource, SkillsListParams, SkillsListResult, SkillsReadResult,
    SkillsRestoreOriginalResult, SkillsSetEnabledParams, SkillsSetEnabledResult, SkillsUninstallResult,
    SkillsViewResult,
};
use bobbin_peer::Responder;
use bobbin_prompts::{PromptError, Prompts, Skill, Source};
use serde::Serialize;
use serde_json::Value;

use super::{SKILLS_SET_ENABLED, SKILLS_UNINSTALL};
use crate::client::{Client, refuse};
use crate::errors;

/// The parts of the configuration that clients must read again.
const REGIONS: &[&str] = &["skills"];

/// Runs blocking work on the skills in a task of its own, and answers with its result.
fn work<P, R>(
    client: &Client,
    prompts: &Arc<Prompts>,
    params: P,
    responder: Responder,
    work: impl FnOnce(&Prompts, P) -> Result<R, PromptError> + Send + 'static,
) where
    P: Send + 'static,
    R: Serialize + Send + 'static,
{
    client.spawn(answered(prompts.clone(), params, responder, work));
}

/// As [`work`], but notifies every client and makes the connection's next request wait.
async fn change<P, R>(
    client: &Client,
    prompts: &Arc<Prompts>,
    params: P,
    responder: Responder,
    source: &'static str,
    done: impl FnOnce(&Prompts, P) -> Result<R, PromptError> + Send + 'static,
) where
    P: Send + 'static,
    R: Serialize + Send + 'static,
{
    let threads = client.threads().clone();
    let done = move |prompts: &Prompts, params| {
        let result = done(prompts, params)?;
        let regions = REGIONS.to_vec();
        threads.broadcasts().send(ConfigNews { source, regions }, 0);
        Ok(result)
    };
    answered(prompts.clone(), params, responder, done).await;
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

pub(super) fn list(client: &Client, prompts: &Arc<Prompts>, asked: SkillsListParams, responder: Responder) {
    work(client, prompts, asked, responder, |prompts, asked| {
        let all = asked.include_unavailable.unwrap_or(true);
        let skills = prompts.skills().into_iter();
        let wanted = skills.filter(|skill| all || skill.unavailable.is_none());
        Ok(SkillsListResult {
            skills: wanted.map(info).collect(),
        })
    });
}

pub(super) fn read(client: &Client, prompts: &Arc<Prompts>, asked: SkillParams, responder: Responder) {
    work(client, prompts, asked, responder, |prompts, asked| {
        let text = prompts.skill_text(&asked.name)?;
        Ok(SkillsReadResult {
            name: asked.name,
            content: text.source,
            metadata: some(text.metadata),
        })
    });
}

pub(super) fn view(client: &Client, prompts: &Arc<Prompts>, asked: SkillParams, responder: Responder) {
    work(client, prompts, asked, responder, |prompts, asked| {
        let text = prompts.skill_text(&asked.name)?;
        Ok(SkillsViewResult {
            name: asked.name,
            content: text.body,
        })
    });
}

pub(super) fn restore_original(
    client: &Client,
    prompts: &Arc<Prompts>,
    asked: SkillParams,
    responder: Responder,
) {
    work(client, prompts, asked, responder, |prompts, asked| {
        prompts.skill(&asked.name)?;
        Ok(SkillsRestoreOriginalResult {
            name: asked.name,
            restored: false,
        })
    });
}

pub(super) async fn set_enabled(
    client: &Client,
    prompts: &Arc<Prompts>,
    asked: SkillsSetEnabledParams,
    responder: Responder,
) {
    let switch = |prompts: &Prompts, asked: SkillsSetEnabledParams| {
        let skill = prompts.enable_skill(&asked.name, asked.enabled)?;
        Ok(SkillsSetEnabledResult { skill: info(skill) })
    };
    change(client, prompts, asked, responder, SKILLS_SET_ENABLED, switch).await;
}

pub(super) async fn uninstall(
    client: &Client,
    prompts: &Arc<Prompts>,
    asked: SkillParams,
    responder: Responder,
) {
    let remove = |prompts: &Prompts, asked: SkillParams| {
        let removed = prompts.remove_skill(&asked.name)?;
        Ok(SkillsUninstallResult {
            name: asked.name,
            uninstalled: true,
            source: source(removed.source),
            removed_source_path: removed.directory.to_string_lossy().into_owned(),
            removed_variant_count: 0,
        })
    };
    change(client, prompts, asked, responder, SKILLS_UNINSTALL, remove).await;
}

fn info(skill: Skill) -> SkillInfo {
    SkillInfo {
        name: skill.name,
        description: skill.description,
        display_name: skill.display_name,
        short_description: skill.short_description,
        default_prompt: skill.default_prompt,
        source: source(skill.source),
        plugin_id: skill.plugin.as_ref().map(|plugin| plugin.id.clone()),
        plugin_display_name: skill.plugin.map(|plugin| plugin.display_name),
        available: skill.unavailable.is_none(),
        unavailable_reason: skill.unavailable,
        enabled: skill.enabled,
        path: skill.path.to_string_lossy().into_owned(),
        metadata: some(skill.metadata),
    }
}

fn source(source: Source) -> SkillSource {
    match source {
        Source::Workspace => SkillSource::Workspace,
        Source::Plugin => SkillSource::Plugin,
        Source::User => SkillSource::User,
    }
}

fn some(metadata: BTreeMap<String, Value>) -> Option<BTreeMap<String, Value>> {
    (!metadata.is_empty()).then_some(metadata)
}
