//! The permission of a server's tool, from its MCP annotations. Pure.
//!
//! Annotations are hints by the author of the server. So they can only save the approval of a tool that reads. A tool
//! without annotations counts as one that can do everything.

use bobbin_agent_api::cut::head_and_rest;
use bobbin_agent_api::tool::{Effect, Permission};
use bobbin_model::{ApprovalKind, Scope};
use rmcp::model::ToolAnnotations;

/// Longest piece of a call's arguments in a question.
const MAX_SHOWN: usize = 300;

/// The assumed traits of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Traits {
    /// It changes nothing.
    pub(crate) reads: bool,
    /// It reaches things beyond its own server.
    pub(crate) reaches_out: bool,
    /// It may change things for the worse.
    pub(crate) destroys: bool,
}

impl Traits {
    /// Returns the traits of a tool with these hints. Contradictions count against it.
    pub(crate) fn of(hints: Option<&ToolAnnotations>) -> Self {
        let hint = |get: fn(&ToolAnnotations) -> Option<bool>| hints.and_then(get);
        let destructive = hint(|hints| hints.destructive_hint);
        let reads = hint(|hints| hints.read_only_hint) == Some(true) && destructive != Some(true);
        Self {
            reads,
            reaches_out: hint(|hints| hints.open_world_hint) == Some(true),
            destroys: !reads && destructive != Some(false),
        }
    }

    /// Returns these traits, but none better than `first`, those of the tool in the server's first list. The user has
    /// trusted the first list, so a later one cannot make a tool more harmless. A tool that was not in the first list counts
    /// as one without hints.
    pub(crate) fn no_better_than(self, first: Option<Self>) -> Self {
        let first = first.unwrap_or(Self::of(None));
        Self {
            reads: self.reads && first.reads,
            reaches_out: self.reaches_out || first.reaches_out,
            destroys: self.destroys || first.destroys,
        }
    }

    /// Returns the effect of the tool, by which plan mode decides whether to offer it.
    pub(crate) fn effect(self) -> Effect {
        if self.reads { Effect::Reads } else { Effect::Writes }
    }

    /// Returns the permission that a call needs.
    pub(crate) fn permission(self, server: &str, tool: &str, arguments: &str) -> Permission {
        if self.reads && !self.reaches_out {
            return Permission::Free;
        }
        let what = if self.destroys {
            "It may destroy or overwrite things."
        } else if self.reads {
            "It says that it only reads, and that it reaches beyond this machine."
        } else {
            "It says that it changes things without destroying any."
        };
        // A client that shows the call has the complete arguments.
        let arguments = head_and_rest(arguments, MAX_SHOWN);
        Permission::Ask {
            scope: Scope::new(ApprovalKind::RemoteResource, tool, format!("mcp:{server}/{tool}")),
            reason: format!(
                "The agent wants to call {tool} of the MCP server {server} with {arguments}. {what}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hints, then whether a call needs an approval, and the effect.
    #[test]
    fn hints_decide_who_is_asked() {
        let hints = |reads: Option<bool>, destroys: Option<bool>, open: Option<bool>| {
            let mut hints = ToolAnnotations::default();
            hints.read_only_hint = reads;
            hints.destructive_hint = destroys;
            hints.open_world_hint = open;
            Some(hints)
        };
        let table = [
            (None, true, Effect::Writes, "may destroy"),
            (hints(None, None, None), true, Effect::Writes, "may destroy"),
            (hints(Some(true), None, None), false, Effect::Reads, ""),
            (
                hints(Some(true), Some(false), Some(false)),
                false,
                Effect::Reads,
                "",
            ),
            (
                hints(Some(true), None, Some(true)),
                true,
                Effect::Reads,
                "only reads",
            ),
            (
                hints(Some(true), Some(true), None),
                true,
                Effect::Writes,
                "may destroy",
            ),
            (
                hints(Some(false), None, None),
                true,
                Effect::Writes,
                "may destroy",
            ),
            (
                hints(Some(false), Some(false), None),
                true,
                Effect::Writes,
                "without destroying",
            ),
            (
                hints(None, Some(false), Some(false)),
                true,
                Effect::Writes,
                "without destroying",
            ),
        ];
        for (hints, asks, effect, words) in table {
            let traits = Traits::of(hints.as_ref());
            assert_eq!(traits.effect(), effect, "{hints:?}");
            match traits.permission("pantry", "steep", "{}") {
                Permission::Free => assert!(!asks, "{hints:?}"),
                Permission::Ask { scope, reason } => {
                    assert!(asks && reason.contains(words), "{hints:?}: {reason}");
                    assert_eq!(scope.session_key(), "remoteResource:steep:mcp:pantry/steep");
                }
            }
        }
    }
}
