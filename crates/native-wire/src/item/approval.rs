//! Approvals: the question to a user, and the five answers.
//!
//! AppServer protocol 04 §3 and §5. `core` decides how an answer affects the Turn.

use bobbin_model::{ApprovalKind, Decision, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_with::skip_serializing_none;

use crate::{Timestamp, lenient};

/// Params of `item/approval/request`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequestParams {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The `approvalRequest` Item.
    pub item_id: String,
    /// Distinguishes approvals across Items; 12 hexadecimal digits.
    pub request_id: String,
    /// The kind of operation.
    pub approval_type: ApprovalKind,
    /// The command line, or what is done to the target.
    pub operation: String,
    /// Working directory, absolute path, or id of the resource.
    pub target: String,
    /// The scope of `acceptForSession`.
    pub scope_key: String,
    /// The scope of `acceptAlways`, if that is more than exactly this operation. Bobbin's own member.
    pub always_scope_key: Option<String>,
    /// Whether the sandbox confines it, so that it would run unasked under the policy `sandboxed`. Bobbin's own member.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[serde(default)]
    pub confined: bool,
    /// When the server declines it, unless it is answered.
    pub expires_at: Timestamp,
    /// A sentence for the user.
    pub reason: Option<String>,
    /// The answers that make sense; absent means all five.
    pub available_decisions: Option<Vec<Decision>>,
    /// Extension: the tool call that waits for the answer.
    pub call_id: Option<String>,
}

/// Result of `item/approval/request`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequestResult {
    /// The answer.
    pub decision: Decision,
}

impl ApprovalRequestResult {
    /// Reads a client's answer. Cannot fail: any answer other than a clear yes is a no.
    pub fn read(result: Option<&RawValue>) -> Self {
        let decision = result
            .and_then(|raw| lenient::lenient::<GivenResult>(raw).ok())
            .and_then(|given| given.decision?.decode().ok());
        Self {
            decision: decision.unwrap_or(Decision::Decline),
        }
    }
}

/// The result as a client wrote it.
#[derive(Deserialize)]
struct GivenResult {
    decision: Option<Json>,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#"{"decision":"accept"}"#, Decision::Accept)]
    #[case(r#"{"decision":"acceptForSession"}"#, Decision::AcceptForSession)]
    #[case(r#"{"decision":"acceptAlways","note":"ok"}"#, Decision::AcceptAlways)]
    #[case(r#"{"Decision":"cancel"}"#, Decision::Cancel)]
    #[case(r#"{"decision":"decline"}"#, Decision::Decline)]
    #[case(r#"{"decision":"yes, please"}"#, Decision::Decline)]
    #[case(r#"{"decision":"Accept"}"#, Decision::Decline)]
    #[case(r#"{"decision":true}"#, Decision::Decline)]
    #[case(r#"{"decision":null}"#, Decision::Decline)]
    #[case(r#"{"decision":{"decision":"accept"}}"#, Decision::Decline)]
    #[case("{}", Decision::Decline)]
    #[case(r#""accept""#, Decision::Decline)]
    #[case("null", Decision::Decline)]
    fn whatever_is_no_clear_yes_is_a_no(#[case] result: &str, #[case] decision: Decision) {
        let raw: &RawValue = serde_json::from_str(result).unwrap();
        assert_eq!(ApprovalRequestResult::read(Some(raw)).decision, decision);
    }

    #[test]
    fn a_missing_result_is_a_no() {
        assert_eq!(ApprovalRequestResult::read(None).decision, Decision::Decline);
    }
}
