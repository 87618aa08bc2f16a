//! Extension: `policy/explain`, what the rules say of a command before anybody runs it.

use bobbin_model::Judgement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `policy/explain`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyExplainParams {
    /// The command line, as a shell would get it. 1 to 65,536 bytes.
    pub command: String,
    /// A Thread whose settings and earlier answers count; those of the workspace when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
}

/// Result of `policy/explain`. Nothing was run, asked or remembered.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// A person is asked.
    Asks,
    /// It runs: a person has said so before.
    Answered,
    /// It runs: the approval policy accepts what would be asked.
    AutoApproved,
    /// It runs where the sandbox confines it, and a user is asked elsewhere: the approval policy says so.
    RunsSandboxed,
    /// The Turn ends: the approval policy says so instead of asking.
    Interrupts,
    /// It is refused, and the agent told why.
    Refused,
    /// The agent has no shell: the Thread is in plan mode.
    Withheld,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    /// The rule in one line.
    pub text: String,
    /// The file it is written in.
    pub source: String,
    /// Why, in the words of who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One command of a line.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<PolicyRule>,
}
