//! The settings of a Thread in the client's words: model, effort, mode, policy, sandbox.
//!
//! A client's policies and sandboxes do not count: the Thread has the server's own.

use bobbin_editor_kit::EditorModels;
use bobbin_model::{Effort, Mode, ThreadConfig};
use serde_json::{Value, json};

use crate::turns::PROVIDER;

/// Returns the full name of the model of a configuration.
pub(crate) fn model(config: Option<&ThreadConfig>, models: &dyn EditorModels) -> String {
    let named = config.and_then(|config| config.model.as_deref());
    named.map_or_else(
        || models.usual(),
        |name| models.find(name).unwrap_or_else(|| name.to_owned()),
    )
}

fn effort(config: Option<&ThreadConfig>) -> Option<&'static str> {
    config
        .and_then(|config| config.reasoning_effort)
        .map(Effort::name)
}

fn mode(config: Option<&ThreadConfig>) -> &'static str {
    match config.map(ThreadConfig::mode).unwrap_or_default() {
        Mode::Agent => "default",
        Mode::Plan => "plan",
    }
}

/// Returns the profile and the sandbox of a mode: a plan writes nothing.
fn sandbox(config: Option<&ThreadConfig>) -> (&'static str, Value) {
    match config.map(ThreadConfig::mode).unwrap_or_default() {
        Mode::Agent => (
            ":workspace",
            json!({ "type": "workspaceWrite", "writableRoots": [], "networkAccess": false }),
        ),
        Mode::Plan => (
            ":read-only",
            json!({ "type": "readOnly", "networkAccess": false }),
        ),
    }
}

fn collaboration(config: Option<&ThreadConfig>, model: &str) -> Value {
    let settings =
        json!({ "model": model, "reasoning_effort": effort(config), "developer_instructions": null });
    json!({ "mode": mode(config), "settings": settings })
}

/// Returns the parameters of `thread/settings/updated`.
pub(crate) fn settings(
    uuid: &str,
    config: Option<&ThreadConfig>,
    cwd: &str,
    models: &dyn EditorModels,
) -> Value {
    let model = model(config, models);
    let (profile, sandbox) = sandbox(config);
    let settings = json!({
        "approvalPolicy": "on-request",
        "approvalsReviewer": "user",
        "collaborationMode": collaboration(config, &model),
        "cwd": cwd,
        "model": model,
        "modelProvider": PROVIDER,
        "sandboxPolicy": sandbox,
        "effort": effort(config),
        "activePermissionProfile": { "id": profile },
    });
    json!({ "threadId": uuid, "threadSettings": settings })
}

/// Returns the answer that opens a Thread.
pub(crate) fn opened(
    thread: &Value,
    config: Option<&ThreadConfig>,
    cwd: &str,
    models: &dyn EditorModels,
) -> Value {
    let model = model(config, models);
    let (profile, sandbox) = sandbox(config);
    json!({
        "thread": thread,
        "model": model,
        "modelProvider": PROVIDER,
        "cwd": cwd,
        "approvalPolicy": "on-request",
        "approvalsReviewer": "user",
        "sandbox": sandbox,
        "reasoningEffort": effort(config),
        "activePermissionProfile": { "id": profile },
        "collaborationMode": collaboration(config, &model),
        "instructionSources": [],
    })
}

/// Returns the models that can be chosen.
pub(crate) fn models(models: &dyn EditorModels) -> Value {
    let usual = models.usual();
    let mut names = models.known();
    if !names.contains(&usual) {
        names.insert(0, usual.clone());
    }
    let entry = |name: &String| {
        let efforts: Vec<Value> = models
            .efforts(name)
            .into_iter()
            .map(|effort| json!({ "reasoningEffort": effort.name(), "description": "" }))
            .collect();
        let first = efforts
            .iter()
            .find(|effort| effort["reasoningEffort"] == "medium")
            .or(efforts.first());
        let modalities: &[&str] = if models.sees_pictures(name) {
            &["text", "image"]
        } else {
            &["text"]
        };
        json!({
            "id": name,
            "model": name,
            "displayName": name,
            "description": "",
            "hidden": false,
            "isDefault": *name == usual,
            "defaultReasoningEffort": first.map_or_else(|| json!("none"), |effort| effort["reasoningEffort"].clone()),
            "supportedReasoningEfforts": efforts,
            "inputModalities": modalities,
        })
    };
    let data: Vec<Value> = names.iter().map(entry).collect();
    json!({ "data": data, "nextCursor": null })
}

/// Applies what a client wants. Returns whether something changes.
pub(crate) fn apply(wanted: &Value, config: &mut ThreadConfig, models: &dyn EditorModels) -> bool {
    let before = config.clone();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let collaboration = &wanted["collaborationMode"];
    let named = text(&wanted["model"]).or_else(|| text(&collaboration["settings"]["model"]));
    if let Some(found) = named.and_then(|name| models.find(&name)) {
        // The usual model stays the usual one.
        if config.model.is_some() || found != models.usual() {
            config.model = Some(found);
        }
    }
    let effort = text(&wanted["effort"]).or_else(|| text(&collaboration["settings"]["reasoning_effort"]));
    let model = model(Some(config), models);
    if let Some(effort) = effort.and_then(|name| Effort::of_name(&name))
        && models.efforts(&model).contains(&effort)
    {
        config.reasoning_effort = Some(effort);
    }
    let is_read_only = wanted["permissions"] == ":read-only";
    match collaboration["mode"].as_str() {
        Some("plan") => config.mode = Some(Mode::Plan),
        _ if is_read_only => config.mode = Some(Mode::Plan),
        Some(_) if config.mode() == Mode::Plan => config.mode = Some(Mode::Agent),
        _ => {}
    }
    *config != before
}
