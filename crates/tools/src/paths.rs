//! Resolves a path that a model wrote, and decides whether a call may use it.
//!
//! A path is resolved against the root with every symbolic link followed *before* the workspace check, so a link out of
//! the workspace counts as outside. Missing parts are taken literally; a dangling link counts as the place it points
//! to.
//!
//! Time passes between the check and the use. A call confirms its [`Target`] again right before it acts, and then uses the
//! resolved path, which has no links. A process that replaces a directory by a link within those microseconds can still
//! redirect the call; it could also act itself.
//!
//! Blocking, but only a `stat` per path part. Bounded by [`trace`].

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use bobbin_agent_api::policy::{Judgement, PathAccess};
use bobbin_agent_api::tool::{OutsideWorkspace, Permission, ToolEnvironment, ToolRefusal};
use bobbin_files::shown;
use bobbin_model::{ApprovalKind, Scope};

use bobbin_policy::{Reserved, TraceStatus, resolve, ruling, trace};

/// The use of a path by a call, in the words of AppServer protocol 04 §1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It reads a file.
    Read,
    /// It lists a directory.
    List,
    /// It writes a whole file.
    Write,
    /// It changes a part of a file.
    Edit,
}

/// Returns a text with its first letter in upper case.
pub(crate) fn upper_first(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

impl Access {
    fn operation(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Write => "write",
            Self::Edit => "edit",
        }
    }

    fn sentence(self, place: &str) -> String {
        match self {
            Self::Read => format!("{}: the agent wants to read it.", upper_first(place)),
            Self::List => format!("{}: the agent wants to list it.", upper_first(place)),
            Self::Write | Self::Edit => format!("{}: the agent wants to change it.", upper_first(place)),
        }
    }

    fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Edit)
    }
}

/// A resolved path that a call was checked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    root: PathBuf,
    text: String,
    path: PathBuf,
}

impl Target {
    /// Returns the path for display: relative to the workspace if it is inside.
    pub fn shown(&self) -> String {
        shown(&self.root, &self.path)
    }

    /// Returns the resolved path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Resolves the path once more, right before its use.
    ///
    /// # Errors
    /// The path leads elsewhere now; the text is for the model.
    pub fn confirm(&self) -> Result<&Path, String> {
        match resolve(&self.root, &self.text) {
            Ok(path) if path == self.path => Ok(&self.path),
            Ok(_) => Err(format!(
                "{} leads elsewhere since it was checked; nothing was done",
                self.text
            )),
            Err(refusal) => Err(refusal.to_string()),
        }
    }
}

impl Target {
    /// Resolves the path once more off the async threads; `None` when it leads elsewhere now.
    pub async fn confirmed(&self) -> Option<PathBuf> {
        let target = self.clone();
        let confirm = move || target.confirm().ok().map(Path::to_path_buf);
        tokio::task::spawn_blocking(confirm).await.ok()?
    }
}

/// Whether a resolved path is in the directory of attachments. Chat adapters and the desktop store pictures there for the
/// model.
fn is_attachment(root: &Path, path: &Path) -> bool {
    path.starts_with(root.join(".craft/attachments"))
}

/// Resolves a path for a call and returns the permission that the call needs for it.
///
/// # Errors
/// The path cannot be resolved, or no user may give that permission.
pub fn locate(
    environment: &ToolEnvironment,
    text: &str,
    access: Access,
) -> Result<(Target, Permission), ToolRefusal> {
    let root = &environment.root;
    let text = &*expanded(text, environment.policy.home())?;
    let trace = trace(root, text, None)?;
    let status = Reserved::of(root).status(&trace);
    let is_output = environment.policy.is_output(&trace.path) && !trace.through_reserved;
    let path = trace.path.clone();
    let ask = |place: &str| Permission::Ask {
        scope: Scope::new(ApprovalKind::File, access.operation(), path.to_string_lossy()),
        reason: access.sentence(place),
    };
    let used = if access.changes() {
        PathAccess::Write
    } else {
        PathAccess::Read
    };
    let ruling = ruling(&*environment.policy, used, &trace, root);
    let said = ruling.as_ref().map(|ruling| ruling.judgement);
    let why = ruling
        .as_ref()
        .map_or_else(String::new, |ruling| ruling.reason.clone());
    let rule_asks = ruling
        .as_ref()
        .is_some_and(|ruling| ruling.judgement == Judgement::Ask && ruling.rule.is_some());
    if let Some(ruling) = ruling.filter(|ruling| ruling.judgement == Judgement::Deny) {
        return Err(ToolRefusal::denied(ruling.reason));
    }
    let permission = match status {
        TraceStatus::Inside if rule_asks => ask("a file that a rule speaks of"),
        TraceStatus::Inside if said == Some(Judgement::Ask) => ask(&why),
        TraceStatus::Inside => Permission::Free,
        TraceStatus::Reserved if access.changes() => {
            return Err(ToolRefusal::denied(format_args!(
                "{text} belongs to git or to the server and cannot be changed by a tool"
            )));
        }
        TraceStatus::Reserved if said == Some(Judgement::Allow) => Permission::Free,
        TraceStatus::Reserved if access == Access::Read && !rule_asks && is_attachment(root, &path) => {
            Permission::Free
        }
        TraceStatus::Reserved => ask("a file that belongs to git or to the server"),
        TraceStatus::Outside if !access.changes() && said.is_none() && is_output => Permission::Free,
        TraceStatus::Outside => match environment.outside_workspace {
            OutsideWorkspace::Ask if said == Some(Judgement::Allow) => Permission::Free,
            OutsideWorkspace::Ask => of_owner(ask("a file outside the workspace")),
            OutsideWorkspace::Refuse => {
                return Err(ToolRefusal::denied(format_args!(
                    "{text} is outside the workspace, where this thread may not go"
                )));
            }
        },
    };
    let permission = match permission {
        // No earlier answer removes a question that a rule asks.
        Permission::Ask { scope, reason } if rule_asks => Permission::Ask {
            scope: scope.once(),
            reason,
        },
        permission => permission,
    };
    let target = Target {
        root: root.clone(),
        text: text.to_owned(),
        path,
    };
    Ok((target, permission))
}

/// Returns a permission whose question the server's owner alone may answer.
pub(super) fn of_owner(permission: Permission) -> Permission {
    match permission {
        Permission::Ask { scope, reason } => Permission::Ask {
            scope: scope.of_owner(),
            reason,
        },
        Permission::Free => Permission::Free,
    }
}

/// Returns a path with `~` replaced by the user's home. A file of that name is `./~`.
///
/// # Errors
/// There is no home.
fn expanded<'a>(text: &'a str, home: Option<&Path>) -> Result<Cow<'a, str>, ToolRefusal> {
    let Some(rest) = text
        .strip_prefix('~')
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
    else {
        return Ok(text.into());
    };
    match home.and_then(Path::to_str) {
        Some(home) => Ok(format!("{home}{rest}").into()),
        None => Err(ToolRefusal::Unusable(format!(
            "{text} starts with ~, and there is no home; give the whole path, or ./~ for a file of that name"
        ))),
    }
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
