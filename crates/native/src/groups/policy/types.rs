//! Extensions: `policy/explain`, the outcome of a command before it runs, and `approval/rules/*`, the rules in force
//! and the user's standing permissions.

use bobbin_model::Judgement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::wire::{ApprovalKind, ClientRequestId};

/// Parameters of `policy/explain`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyExplainParams {
    /// The command line, as a shell would get it. 1 to 65,536 bytes.
    pub command: String,
    /// A Thread whose settings and earlier answers count; those of the workspace when left out.
    pub thread_id: Option<String>,
}

/// Result of `policy/explain`. Nothing was run, asked or remembered.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyExplainResult {
    /// What the rules say.
    pub judgement: Judgement,
    /// What would happen if the agent wanted to run it now.
    pub outcome: PolicyOutcome,
    /// Why the rules say so: half a sentence.
    pub reason: String,
    /// The rule that decides, when one does.
    pub rule: Option<PolicyRule>,
    /// The commands that were found in the line, those inside of others included.
    pub commands: Vec<PolicyCommand>,
    /// What keeps the line as a whole from running without a question; half sentences.
    pub concerns: Vec<String>,
}

/// What happens to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PolicyOutcome {
    /// It runs.
    Runs,
    /// The user is asked.
    Asks,
    /// It runs: the user has allowed it before.
    Answered,
    /// It runs: the approval policy accepts what would be asked.
    AutoApproved,
    /// It runs where the sandbox confines it, and a user is asked elsewhere: the approval policy says so.
    RunsSandboxed,
    /// The Turn ends: the approval policy says so instead of asking.
    Interrupts,
    /// It is refused, and the agent told why.
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
    /// Why, in the words of who wrote it.
    pub reason: Option<String>,
}

/// One command of a line.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyCommand {
    /// Its words, as the shell would see them, joined by spaces; at most 200 characters.
    pub command: String,
    /// What the rules say of it.
    pub judgement: Judgement,
    /// Why: half a sentence.
    pub reason: String,
    /// The rule that decides, when one does.
    pub rule: Option<PolicyRule>,
}

/// Result of `approval/rules/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRulesListResult {
    /// The rules in force, in the order in which they are written.
    pub rules: Vec<PolicyRule>,
    /// The answers `acceptAlways` that count in this workspace, at most 1,000.
    pub answers: Vec<StandingAnswer>,
}

/// An answer `acceptAlways`: exactly this operation is not asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StandingAnswer {
    /// Names it in `approval/rules/remove`.
    pub id: String,
    /// Kind of operation.
    pub approval_type: ApprovalKind,
    /// Command line or file operation, as the question showed it.
    pub operation: String,
    /// Working directory or absolute path.
    pub target: String,
    /// What it depends on beside the operation: a program with its digest, or that there is no sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
}

/// Parameters of `approval/rules/remove`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRulesRemoveParams {
    /// The ids of answers; all of them when left out. One that is not there is none that has to be removed.
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
