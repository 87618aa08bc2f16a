//! The permission that a call needs: what its tool asks, and what the user's rules and the Thread's policy say of it.

use bobbin_model::{ApprovalKind, Coverage, Scope};

use crate::policy::{Judgement, PathAccess, Ruling};
use crate::tool::{Permission, PreparedCall, ToolEnvironment, Touches};

/// Returns the permission that a prepared call needs: its tool's, what a rule says of the tool, and what the Thread's
/// policy says of changes of files. May not block: rules for paths are compared as text.
pub fn permission_of(environment: &ToolEnvironment, tool: &str, prepared: &dyn PreparedCall) -> Permission {
    let said = environment.policy.tool(tool);
    let is_allowed = matches!(&said, Some(ruling) if ruling.judgement == Judgement::Allow);
    let permission = with_rule(prepared.permission(), said, tool);
    if permission != Permission::Free || is_allowed || !environment.approvals.asks_about_writes() {
        return permission;
    }
    let Touches::Files(mut files) = prepared.touches() else {
        return permission;
    };
    files.retain(|file| {
        let said = environment
            .policy
            .path(PathAccess::Write, file, &environment.root);
        said.is_none_or(|ruling| ruling.judgement != Judgement::Allow)
    });
    let names: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
    let scope = Scope::new(ApprovalKind::File, "write", names.join(", "));
    let reason = "The agent wants to change files of the workspace, and this thread asks about each change.";
    match names.len() {
        0 => permission,
        1 => Permission::Ask {
            scope,
            reason: reason.to_owned(),
        },
        _ => Permission::Ask {
            scope: scope.once(),
            reason: reason.to_owned(),
        },
    }
}

/// Returns the permission that a call needs when a rule speaks of its tool. A rule that allows a tool removes only the
/// question about the tool itself: commands and paths have rules of their own.
pub fn with_rule(permission: Permission, said: Option<Ruling>, tool: &str) -> Permission {
    // No rule answers a question about one call alone, such as whether a command may leave the sandbox.
    let about_the_tool = matches!(&permission, Permission::Ask { scope, .. }
        if scope.kind == ApprovalKind::RemoteResource && scope.coverage != Coverage::Once);
    match said {
        Some(ruling) if ruling.judgement == Judgement::Ask && permission == Permission::Free => {
            Permission::Ask {
                scope: Scope::new(ApprovalKind::RemoteResource, tool, "").once(),
                reason: format!("The agent wants to use {tool}: {}.", ruling.reason),
            }
        }
        Some(ruling) if ruling.judgement == Judgement::Allow && about_the_tool => Permission::Free,
        Some(ruling) if ruling.judgement == Judgement::Ask => match permission {
            // No earlier answer removes a question that a rule asks.
            Permission::Ask { scope, reason } => Permission::Ask {
                scope: Scope {
                    sandboxed: false,
                    ..scope.once()
                },
                reason,
            },
            Permission::Free => Permission::Free,
        },
        _ => permission,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(judgement: Judgement) -> Ruling {
        Ruling {
            judgement,
            reason: "so".to_owned(),
            rule: None,
        }
    }

    fn ask(kind: ApprovalKind) -> Permission {
        Permission::Ask {
            scope: Scope::new(kind, "o", "t"),
            reason: "r".to_owned(),
        }
    }

    #[test]
    fn a_rule_for_a_tool_adds_a_question_and_takes_back_only_its_own() {
        let shell = ask(ApprovalKind::Shell);
        assert_eq!(
            with_rule(shell.clone(), Some(said(Judgement::Allow)), "Exec"),
            shell
        );
        // No earlier answer counts where a rule asks.
        let asked = with_rule(shell, Some(said(Judgement::Ask)), "Exec");
        assert!(matches!(asked, Permission::Ask { scope, .. } if scope.grant().is_none()));
        let remote = ask(ApprovalKind::RemoteResource);
        assert_eq!(
            with_rule(remote.clone(), Some(said(Judgement::Allow)), "web"),
            Permission::Free
        );
        assert_eq!(with_rule(remote.clone(), None, "web"), remote);
        let Permission::Ask { scope, reason } = remote else {
            unreachable!();
        };
        let leaving = Permission::Ask {
            scope: scope.once(),
            reason,
        };
        let allowed = with_rule(leaving.clone(), Some(said(Judgement::Allow)), "Exec");
        assert_eq!(
            allowed, leaving,
            "only the user lets a command out of the sandbox"
        );
        let asked = with_rule(Permission::Free, Some(said(Judgement::Ask)), "GrepFiles");
        assert!(matches!(asked, Permission::Ask { scope, .. } if scope.operation == "GrepFiles"));
    }
}
