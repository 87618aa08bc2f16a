//! Asking a person: the question, and the five answers.
//!
//! AppServer protocol 04 §3 and §5. What an answer means for the Turn is decided in `core`.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::{Opaque, decode};

/// What kind of thing is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalKind {
    /// A command line.
    Shell,
    /// A file operation.
    File,
    /// Something outside this machine.
    RemoteResource,
}

/// Params of `item/approval/request`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequestParams {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The `approvalRequest` Item.
    pub item_id: String,
    /// Tells approvals apart across Items; 12 hexadecimal digits.
    pub request_id: String,
    /// What kind of thing is asked about.
    pub approval_type: ApprovalKind,
    /// The command line, or what is done to the target.
    pub operation: String,
    /// Working directory, absolute path, or id of the resource.
    pub target: String,
    /// What `acceptForSession` would cover.
    pub scope_key: String,
    /// A sentence for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The answers that make sense; absent means all five.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_decisions: Option<Vec<ApprovalDecision>>,
}

/// Result of `item/approval/request`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ApprovalRequestResult {
    /// The answer.
    pub decision: ApprovalDecision,
}

/// A person's answer. Anything that is not one of the five counts as `decline`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalDecision {
    /// Yes, this once.
    Accept,
    /// Yes, and everything else in the same scope while the Thread lives in the server.
    AcceptForSession,
    /// Yes, and this operation for ever.
    AcceptAlways,
    /// No; the agent goes on.
    #[default]
    Decline,
    /// No; the Turn is cancelled.
    Cancel,
}

impl ApprovalDecision {
    /// All five, in the order of the protocol.
    pub const ALL: [Self; 5] = [
        Self::Accept,
        Self::AcceptForSession,
        Self::AcceptAlways,
        Self::Decline,
        Self::Cancel,
    ];

    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::AcceptForSession => "acceptForSession",
            Self::AcceptAlways => "acceptAlways",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }

    /// Returns whether the operation may go ahead.
    pub const fn approves(self) -> bool {
        matches!(self, Self::Accept | Self::AcceptForSession | Self::AcceptAlways)
    }

    /// Reads a client's answer. Cannot fail: whatever is no clear yes is a no.
    pub fn from_result(result: Option<&RawValue>) -> Self {
        result
            .and_then(|raw| decode::lenient::<ApprovalRequestResult>(raw).ok())
            .unwrap_or_default()
            .decision
    }

    fn from_name(name: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|decision| decision.as_str() == name)
            .unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for ApprovalDecision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Opaque::deserialize(deserializer)?;
        Ok(given
            .decode::<String>()
            .map_or_else(|_| Self::default(), |name| Self::from_name(&name)))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#"{"decision":"accept"}"#, ApprovalDecision::Accept)]
    #[case(r#"{"decision":"acceptForSession"}"#, ApprovalDecision::AcceptForSession)]
    #[case(r#"{"decision":"acceptAlways","note":"ok"}"#, ApprovalDecision::AcceptAlways)]
    #[case(r#"{"Decision":"cancel"}"#, ApprovalDecision::Cancel)]
    #[case(r#"{"decision":"decline"}"#, ApprovalDecision::Decline)]
    #[case(r#"{"decision":"yes, please"}"#, ApprovalDecision::Decline)]
    #[case(r#"{"decision":"Accept"}"#, ApprovalDecision::Decline)]
    #[case(r#"{"decision":true}"#, ApprovalDecision::Decline)]
    #[case(r#"{"decision":null}"#, ApprovalDecision::Decline)]
    #[case(r#"{"decision":{"decision":"accept"}}"#, ApprovalDecision::Decline)]
    #[case("{}", ApprovalDecision::Decline)]
    #[case(r#""accept""#, ApprovalDecision::Decline)]
    #[case("null", ApprovalDecision::Decline)]
    fn whatever_is_no_clear_yes_is_a_no(#[case] result: &str, #[case] decision: ApprovalDecision) {
        let raw: &RawValue = serde_json::from_str(result).unwrap();
        assert_eq!(ApprovalDecision::from_result(Some(raw)), decision);
    }

    #[test]
    fn a_missing_result_is_a_no() {
        assert_eq!(ApprovalDecision::from_result(None), ApprovalDecision::Decline);
    }

    #[test]
    fn names_are_the_ones_that_serde_writes() {
        for decision in ApprovalDecision::ALL {
            assert_eq!(serde_json::to_value(decision).unwrap(), decision.as_str());
            assert_eq!(decision.approves(), decision.as_str().starts_with("accept"));
        }
    }
}
