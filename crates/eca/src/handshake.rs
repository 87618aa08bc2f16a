//! Conversions of `initialize` (sections 4.2 and 4.6), as pure functions.

use std::path::PathBuf;

use bobbin_editor_kit::{EditorOptions, EditorServices, NoticeKind, OpenRequest, UserNotice, path_of};
use bobbin_model::ApprovalPolicy;
use serde_json::{Map, Value};

use crate::dialect::Chosen;
use crate::wire;
use crate::wire::lifecycle::{InitializationOptions, InitializeParams, WorkspaceFolder};

/// Returns the client's request for a workspace.
pub(crate) fn wanted(params: &InitializeParams) -> OpenRequest {
    let folders = params.workspace_folders.as_deref().unwrap_or_default();
    let options = params.initialization_options.as_ref();
    OpenRequest {
        root: roots(folders).next(),
        pure_config: options.is_some_and(|options| options.pure_config == Some(true)),
        parent: params.process_id,
        options: EditorOptions {
            providers: options.map_or_else(Map::new, |options| members(options.providers.as_ref())),
            mcp_servers: options.map_or_else(Map::new, |options| members(options.mcp_servers.as_ref())),
        },
    }
}

fn members(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

pub(crate) fn roots(folders: &[WorkspaceFolder]) -> impl Iterator<Item = PathBuf> {
    folders
        .iter()
        .filter_map(|folder| folder.uri.as_deref().map(path_of))
}

/// Returns notices for the user about requests that are not met.
pub(crate) fn notices(params: &InitializeParams) -> Vec<UserNotice> {
    let mut roots = roots(params.workspace_folders.as_deref().unwrap_or_default());
    let (Some(first), Some(_)) = (roots.next(), roots.next()) else {
        return Vec::new();
    };
    vec![UserNotice {
        kind: NoticeKind::Warning,
        message: format!(
            "only the first folder, {}, is the workspace of this session; files of the others are in menus and can be attached, and the \
             agent asks before it reads or changes them",
            first.display()
        ),
    }]
}

/// Returns the options' choices for chats that make none (4.6).
pub(crate) fn chosen(options: InitializationOptions, offer: &EditorServices) -> Chosen {
    let policy = match options.by_default() {
        Some("allow") => Some(ApprovalPolicy::AutoApprove),
        Some("ask") => Some(ApprovalPolicy::AskWrites),
        Some("deny") => Some(ApprovalPolicy::Refuse),
        _ => None,
    };
    Chosen {
        mode: options.mode().map(wire::mode_of),
        model: options.default_model.and_then(|model| offer.models.find(&model)),
        policy,
        ..Chosen::default()
    }
}
