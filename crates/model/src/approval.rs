//! Approvals: questions to people that are recorded, outlive everything, and are settled once.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ApprovalId, ItemId, TurnId, UnixMillis};

/// Kind of operation that needs a person's word (AppServer protocol 04 §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ApprovalKind {
    /// A command line.
    Shell,
    /// A file operation.
    File,
    /// Something beyond this machine.
    RemoteResource,
}

/// How a Thread's Approvals are decided (AppServer protocol 04 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ApprovalPolicy {
    /// Ask.
    #[default]
    Default,
    /// Accept without asking.
    AutoApprove,
    /// End the Turn instead of asking.
    Interrupt,
    /// Accept what is confined to the sandbox, ask about the rest.
    Sandboxed,
}

impl ApprovalPolicy {
    /// Returns the one of two policies that lets less happen without a question.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        use ApprovalPolicy::{AutoApprove, Default, Interrupt, Sandboxed};
        match (self, other) {
            (Interrupt, _) | (_, Interrupt) => Interrupt,
            (Default, _) | (_, Default) => Default,
            (Sandboxed, _) | (_, Sandboxed) => Sandboxed,
            (AutoApprove, AutoApprove) => AutoApprove,
        }
    }
}

/// What rules say of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "PolicyJudgement")
)]
pub enum Judgement {
    /// It may be done without a question.
    Allow,
    /// A user's answer is needed.
    Ask,
    /// It is refused.
    Deny,
}

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ApprovalDecision")
)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    /// This operation.
    Accept,
    /// This and every later one of the same scope in this Thread.
    AcceptForSession,
    /// This and every later equal one, in every Thread of the workspace.
    AcceptAlways,
    /// Refused; the Turn goes on.
    Decline,
    /// Refused; the Turn ends.
    Cancel,
}

impl Decision {
    /// Whether the operation may go on.
    pub fn approves(self) -> bool {
        matches!(self, Self::Accept | Self::AcceptForSession | Self::AcceptAlways)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accept => "accept",
            Self::AcceptForSession => "acceptForSession",
            Self::AcceptAlways => "acceptAlways",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        })
    }
}

/// Who or what settled an Approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DecidedBy {
    /// A client; its name.
    Client(String),
    /// Another answer that covered this one too.
    SameScope(ApprovalId),
    /// The Turn was interrupted.
    Interrupt,
    /// Nobody answered in time.
    Timeout,
    /// Nobody could ever be asked.
    Policy,
}

/// What is asked for, and how far an answer to it reaches.
///
/// `coverage` and `conditions` came later: an operation recorded without them is covered exactly as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Kind.
    pub kind: ApprovalKind,
    /// Command line or file operation, as shown.
    pub operation: String,
    /// Working directory or absolute path, as shown.
    pub target: String,
    /// Which later operations an answer for the session covers.
    #[serde(default, skip_serializing_if = "Coverage::is_exact")]
    pub coverage: Coverage,
    /// What an answer depends on beside the operation, such as the content of a program; an answer covers only an operation
    /// under the same conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
    /// Whether the operation is confined to the sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandboxed: bool,
}

/// Which later operations an answer covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Coverage {
    /// None: a user's rule asks about each, or it leaves the sandbox. No earlier answer counts for it either.
    Once,
    /// Those that are the same.
    #[default]
    Exact,
    /// For the session those that begin so, such as `git diff`; for ever those that are the same.
    Head(String),
}

impl Coverage {
    fn is_exact(&self) -> bool {
        *self == Self::Exact
    }
}

impl Scope {
    /// Returns the scope of an operation whose answers cover the same operation.
    pub fn new(kind: ApprovalKind, operation: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            kind,
            operation: operation.into(),
            target: target.into(),
            coverage: Coverage::Exact,
            conditions: Vec::new(),
            sandboxed: false,
        }
    }

    /// Returns the scope of an operation that each needs an answer of its own.
    #[must_use]
    pub fn once(self) -> Self {
        Self {
            coverage: Coverage::Once,
            ..self
        }
    }

    /// Returns what an answer for the session covers, as clients show it (AppServer protocol 04 §1, `scopeKey`).
    pub fn session_key(&self) -> String {
        let Self {
            operation, target, ..
        } = self;
        match (self.kind, &self.coverage) {
            (ApprovalKind::Shell, Coverage::Head(head)) => format!("shell:{head}"),
            (ApprovalKind::Shell, _) => format!("shell:{operation}"),
            (ApprovalKind::File, _) => format!("file:{operation}:{target}"),
            (ApprovalKind::RemoteResource, _) => format!("remoteResource:{operation}:{target}"),
        }
    }

    /// Returns what an answer for the session records: the same text for every operation that it covers. `None` for an
    /// operation that needs an answer of its own.
    pub fn grant(&self) -> Option<String> {
        if self.coverage == Coverage::Once {
            return None;
        }
        // Neither paths nor command lines have a zero byte: no two of these are alike by chance.
        let mut grant = format!("{}\0{}", self.session_key(), self.target);
        for condition in &self.conditions {
            grant.push('\0');
            grant.push_str(condition);
        }
        Some(grant)
    }

    /// Returns what an answer records for the session, if it does. One for ever covers exactly this and is recorded by itself,
    /// except where that cannot be.
    pub(crate) fn grant_of(&self, decision: Decision) -> Option<String> {
        let for_session = match decision {
            Decision::AcceptForSession => true,
            Decision::AcceptAlways => !self.may_be_remembered(),
            Decision::Accept | Decision::Decline | Decision::Cancel => false,
        };
        self.grant().filter(|_| for_session)
    }

    /// Whether an answer about this covers another operation too.
    pub(crate) fn settles(&self, decision: Decision, other: &Self) -> bool {
        match self.grant_of(decision) {
            Some(grant) => other.grant() == Some(grant),
            None if decision == Decision::AcceptAlways => {
                self.may_be_remembered() && other.may_be_remembered() && self.standing() == other.standing()
            }
            None => false,
        }
    }

    /// Returns the answer for ever that covers the operation.
    pub fn standing(&self) -> StandingAnswer {
        StandingAnswer {
            kind: self.kind,
            operation: self.operation.clone(),
            target: self.target.clone(),
            conditions: self.conditions.clone(),
        }
    }

    /// Whether an answer for the session may be offered.
    pub fn may_be_granted(&self) -> bool {
        self.coverage != Coverage::Once
    }

    /// Whether `acceptAlways` may be offered: nothing is remembered about things beyond this machine.
    pub fn may_be_remembered(&self) -> bool {
        self.may_be_granted() && self.kind != ApprovalKind::RemoteResource
    }
}

/// An answer for ever: exactly this operation is not asked about, in every Thread of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingAnswer {
    /// Kind.
    pub kind: ApprovalKind,
    /// Command line or file operation, as its question showed it.
    pub operation: String,
    /// Working directory or absolute path.
    pub target: String,
    /// What it depends on beside the operation.
    pub conditions: Vec<String>,
}

impl StandingAnswer {
    /// Returns what a store records as the operation: its text and its conditions, divided by zero bytes.
    pub fn recorded_operation(&self) -> String {
        let mut operation = self.operation.clone();
        for condition in &self.conditions {
            operation.push('\0');
            operation.push_str(condition);
        }
        operation
    }

    /// Returns the answer of which a store has this record.
    pub fn from_record(kind: ApprovalKind, operation: &str, target: String) -> Self {
        let mut parts = operation.split('\0').map(str::to_owned);
        Self {
            kind,
            operation: parts.next().unwrap_or_default(),
            target,
            conditions: parts.collect(),
        }
    }
}

/// An open question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its id, the wire's `requestId`.
    pub id: ApprovalId,
    /// The Turn that waits.
    pub turn: TurnId,
    /// Its `approvalRequest` Item.
    pub item: ItemId,
    /// The tool call that waits.
    pub call_id: String,
    /// What is asked for.
    pub scope: Scope,
    /// Sentence for the person.
    pub reason: String,
    /// When it was asked.
    pub opened_at: UnixMillis,
    /// When it is declined by itself.
    pub expires_at: UnixMillis,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_policies_the_stricter_lets_less_happen() {
        use ApprovalPolicy::{AutoApprove, Default, Interrupt, Sandboxed};
        for (one, other, wanted) in [
            (AutoApprove, AutoApprove, AutoApprove),
            (AutoApprove, Default, Default),
            (Default, Interrupt, Interrupt),
            (AutoApprove, Interrupt, Interrupt),
            (Default, Default, Default),
            (Sandboxed, AutoApprove, Sandboxed),
            (Sandboxed, Default, Default),
            (Sandboxed, Interrupt, Interrupt),
        ] {
            assert_eq!((one.stricter(other), other.stricter(one)), (wanted, wanted));
        }
    }
}
