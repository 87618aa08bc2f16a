//! Extensions: `policy/explain`, the outcome of a command before it runs, and `approval/rules/*`, the rules in force
//! and the user's standing permissions.

use bobbin_model::{ApprovalKind, Judgement};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::handshake::types::ClientRequestId;

/// Parameters of `policy/explain`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyExplainParams {
    /// The command line, as a shell would get it. 1 to 65,536 bytes.
    pub command: String,
    /// A Thread whose settings and earlier answers apply; those of the workspace when left out.
    pub thread_id: Option<String>,
}

/// Result of `policy/explain`. Nothing was run, asked or stored.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyExplainResult {
    /// The judgement of the rules.
    pub judgement: Judgement,
    /// The outcome if the agent ran the command now.
    pub outcome: PolicyOutcome,
    /// The reason for the judgement: half a sentence.
    pub reason: String,
    /// The rule that decides, if one does.
    pub rule: Option<PolicyRule>,
    /// The commands in the line, with those inside other commands.
    pub commands: Vec<PolicyCommand>,
    /// Reasons why the whole line needs a question, as half sentences.
    pub concerns: Vec<String>,
}

/// The outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PolicyOutcome {
    /// It runs.
    Runs,
    /// The user is asked.
    Asks,
    /// It runs: the user has allowed it before.
    Answered,
    /// It runs: the approval policy accepts it instead of asking.
    AutoApproved,
    /// It runs in the sandbox if that confines it; otherwise the user is asked. The approval policy decides so.
    RunsSandboxed,
    /// The Turn ends: the approval policy does so instead of asking.
    Interrupts,
    /// It is refused, and the agent gets the reason.
    Refused,
}

/// A rule.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    /// The rule in one line.
    pub text: String,
    /// The file it is written in.
    pub source: String,
    /// The reason, in the words of its author.
    pub reason: Option<String>,
}

/// One command of a line.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyCommand {
    /// Its words, as the shell would see them, joined by spaces; at most 200 characters.
    pub command: String,
    /// The judgement of the rules.
    pub judgement: Judgement,
    /// The reason: half a sentence.
    pub reason: String,
    /// The rule that decides, if one does.
    pub rule: Option<PolicyRule>,
}

/// Result of `approval/rules/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRulesListResult {
    /// The rules in force, in the order in which they are written.
    pub rules: Vec<PolicyRule>,
    /// The `acceptAlways` answers in effect in this workspace, at most 1,000.
    pub answers: Vec<StandingAnswer>,
}

/// An `acceptAlways` answer: exactly this operation runs without a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StandingAnswer {
    /// Its id for `approval/rules/remove`.
    pub id: String,
    /// Kind of operation.
    pub approval_type: ApprovalKind,
    /// Command line or file operation, as the question showed it.
    pub operation: String,
    /// Working directory or absolute path.
    pub target: String,
    /// Conditions besides the operation: a program with its digest, or that there is no sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
}

/// Parameters of `approval/rules/remove`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRulesRemoveParams {
    /// The ids of answers; all of them when left out. Unknown ids are ignored.
    pub ids: Option<Vec<String>>,
    /// The client's name for the request.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `approval/rules/remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRulesRemoveResult {
    /// The answers that are left.
    pub answers: Vec<StandingAnswer>,
}
