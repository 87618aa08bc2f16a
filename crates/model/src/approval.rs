//! Approvals: questions to people that are recorded, outlive everything, and are settled once.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ApprovalId, ItemId, TurnId, UnixMillis};

/// Kind of operation that needs a person's word (AppServer protocol 04 §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalPolicy {
    /// Ask.
    #[default]
    Default,
    /// Accept without asking.
    AutoApprove,
    /// End the Turn instead of asking.
    Interrupt,
}

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// What an Approval covers: the protocol's `scopeKey` for one Thread, and the exact operation for ever.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Kind.
    pub kind: ApprovalKind,
    /// Command line or file operation, as shown.
    pub operation: String,
    /// Working directory or absolute path, as shown.
    pub target: String,
}

impl Scope {
    /// Returns what `acceptForSession` remembers (AppServer protocol 04 §1, `scopeKey`).
    pub fn session_key(&self) -> String {
        match self.kind {
            ApprovalKind::Shell => "shell:*".to_owned(),
            ApprovalKind::File => format!("file:{}", self.operation),
            ApprovalKind::RemoteResource => format!("remoteResource:{}:{}", self.operation, self.target),
        }
    }

    /// Whether `acceptAlways` may be offered: nothing is remembered about things beyond this machine.
    pub fn may_be_remembered(&self) -> bool {
        self.kind != ApprovalKind::RemoteResource
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
