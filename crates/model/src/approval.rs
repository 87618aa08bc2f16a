//! Approvals: requests for a user's permission. They are recorded, survive restarts, and are settled once.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Actor, ApprovalId, ItemId, Need, Person, TurnId, UnixMillis};

/// Kind of operation that needs a user's permission.
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

/// How a Thread's Approvals are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ApprovalPolicy {
    /// Ask the user. In a Thread's configuration: what the workspace is configured to.
    #[default]
    Default,
    /// Ask the user, whatever the workspace is configured to.
    #[serde(alias = "prompt")]
    Ask,
    /// Accept without asking.
    AutoApprove,
    /// End the Turn instead of asking.
    Interrupt,
    /// Accept what is confined to the sandbox, ask about the rest.
    Sandboxed,
    /// Ask the user, also about each change of a file in the workspace.
    AskWrites,
    /// Refuse instead of asking, where `askWrites` would ask; the Turn goes on.
    #[serde(alias = "deny")]
    Refuse,
}

impl ApprovalPolicy {
    /// Returns the stricter of two policies: the one that allows less without a question.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        use ApprovalPolicy::{Ask, AskWrites, AutoApprove, Default, Interrupt, Refuse, Sandboxed};
        match (self, other) {
            (Interrupt, _) | (_, Interrupt) => Interrupt,
            (Refuse, _) | (_, Refuse) => Refuse,
            (AskWrites, _) | (_, AskWrites) => AskWrites,
            (Ask, _) | (_, Ask) => Ask,
            (Default, _) | (_, Default) => Default,
            (Sandboxed, _) | (_, Sandboxed) => Sandboxed,
            (AutoApprove, AutoApprove) => AutoApprove,
        }
    }

    /// Returns how the configuration of a Thread says that this policy is in force there.
    #[must_use]
    pub fn of_thread(self) -> Self {
        match self {
            Self::Default => Self::Ask,
            other => other,
        }
    }

    /// Whether changes of files in the workspace need an answer.
    pub fn asks_about_writes(self) -> bool {
        matches!(self, Self::AskWrites | Self::Refuse)
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
    /// The operation may run without a question.
    Allow,
    /// A user's answer is needed.
    Ask,
    /// The operation is refused.
    Deny,
}

/// A user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ApprovalDecision")
)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    /// Allows this operation.
    Accept,
    /// Allows this operation and each later one of the same scope in this Thread.
    AcceptForSession,
    /// Allows this operation and each later equal one, in every Thread of the workspace.
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
    /// A person other than the user whose server it is.
    Person {
        /// The name of the client.
        client: String,
        /// The person.
        person: Box<Person>,
    },
    /// The answer to another Approval, which covered this one too.
    SameScope(ApprovalId),
    /// The Turn was interrupted.
    Interrupt,
    /// The time limit: no client answered.
    Timeout,
    /// The policy: no client could be asked.
    Policy,
    /// The call got its result without an answer, or asked anew.
    CallEnded,
}

impl DecidedBy {
    /// Returns the record of an answer that a client has given for an actor.
    pub fn client(client: String, actor: Actor) -> Self {
        match actor {
            Actor::Owner => Self::Client(client),
            Actor::Person(person) => Self::Person { client, person },
        }
    }
}

/// The condition of an answer that covers commands by their programs.
const IN_SANDBOX: &str = "in the sandbox";

/// An operation that is asked about, and which later operations its answer covers.
///
/// Older records have no `coverage` and no `conditions`; they decode to their defaults.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Kind.
    pub kind: ApprovalKind,
    /// Command line or file operation, as shown.
    pub operation: String,
    /// Working directory or absolute path, as shown to the user.
    pub target: String,
    /// Which later operations an answer for the session covers.
    #[serde(default, skip_serializing_if = "Coverage::is_exact")]
    pub coverage: Coverage,
    /// Facts besides the operation that an answer depends on, such as the content of a program. An answer covers
    /// only operations under the same conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
    /// Whether the operation is confined to the sandbox.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandboxed: bool,
    /// Whether the server's owner alone may answer, since the operation has the owner's rights or leaves the workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_owner: bool,
}

/// Which later operations an answer covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Coverage {
    /// No other operation: a user's rule asks about each, or the operation leaves the sandbox. No earlier answer
    /// covers it either.
    Once,
    /// Equal operations.
    #[default]
    Exact,
    /// For the session, operations with the same beginning, such as `git diff`; for ever, equal ones.
    Head(String),
    /// For the session and for ever, commands in the sandbox with the same programs, such as `pytest`.
    Programs(String),
}

impl Coverage {
    fn is_exact(&self) -> bool {
        *self == Self::Exact
    }
}

impl Scope {
    /// Returns the scope of an operation. An answer covers equal operations.
    pub fn new(kind: ApprovalKind, operation: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            kind,
            operation: operation.into(),
            target: target.into(),
            coverage: Coverage::Exact,
            conditions: Vec::new(),
            sandboxed: false,
            of_owner: false,
        }
    }

    /// Returns the scope with a question that the server's owner alone may answer.
    #[must_use]
    pub fn of_owner(self) -> Self {
        Self {
            of_owner: true,
            ..self
        }
    }

    /// Returns the right that an answer takes.
    pub fn need(&self) -> Need {
        if self.of_owner { Need::Own } else { Need::Approve }
    }

    /// Returns the scope with [`Coverage::Once`]: each such operation needs its own answer.
    #[must_use]
    pub fn once(self) -> Self {
        Self {
            coverage: Coverage::Once,
            ..self
        }
    }

    /// Returns the key that clients show for an answer for the session (AppServer protocol 04 §1, `scopeKey`).
    pub fn session_key(&self) -> String {
        let Self {
            operation, target, ..
        } = self;
        match (self.kind, &self.coverage) {
            (ApprovalKind::Shell, Coverage::Head(head) | Coverage::Programs(head)) => format!("shell:{head}"),
            (ApprovalKind::Shell, _) => format!("shell:{operation}"),
            (ApprovalKind::File, _) => format!("file:{operation}:{target}"),
            (ApprovalKind::RemoteResource, _) => format!("remoteResource:{operation}:{target}"),
        }
    }

    /// Returns the key of what an answer for ever covers, if that is more than equal operations.
    pub fn standing_key(&self) -> Option<String> {
        matches!(self.coverage, Coverage::Programs(_)).then(|| self.session_key())
    }

    /// Returns the text that an answer for the session records: the same text for each operation that the answer
    /// covers. `None` for an operation that always needs its own answer.
    pub fn grant(&self) -> Option<String> {
        if self.coverage == Coverage::Once {
            return None;
        }
        // Paths and command lines contain no zero byte, so different scopes never give the same text.
        let mut grant = format!("{}\0{}", self.session_key(), self.target);
        for condition in self.all_conditions() {
            grant.push('\0');
            grant.push_str(condition);
        }
        Some(grant)
    }

    fn all_conditions(&self) -> impl Iterator<Item = &str> {
        let confined = matches!(self.coverage, Coverage::Programs(_)).then_some(IN_SANDBOX);
        self.conditions.iter().map(String::as_str).chain(confined)
    }

    /// Returns the grant that an answer records for the session, if any. An answer for ever is recorded by itself,
    /// except for operations that cannot be remembered.
    pub(crate) fn grant_of(&self, decision: Decision) -> Option<String> {
        let for_session = match decision {
            Decision::AcceptForSession => true,
            Decision::AcceptAlways => !self.may_be_remembered(),
            Decision::Accept | Decision::Decline | Decision::Cancel => false,
        };
        self.grant().filter(|_| for_session)
    }

    /// Whether an answer to this scope covers another operation too.
    pub(crate) fn settles(&self, decision: Decision, other: &Self) -> bool {
        match self.grant_of(decision) {
            Some(grant) => other.grant() == Some(grant),
            None if decision == Decision::AcceptAlways => {
                self.may_be_remembered() && other.may_be_remembered() && self.standing() == other.standing()
            }
            None => false,
        }
    }

    /// Returns the answer for ever that an answer to this question records.
    pub fn standing(&self) -> StandingAnswer {
        StandingAnswer {
            kind: self.kind,
            operation: match &self.coverage {
                Coverage::Programs(programs) => format!("{programs} …"),
                Coverage::Once | Coverage::Exact | Coverage::Head(_) => self.operation.clone(),
            },
            target: self.target.clone(),
            conditions: self.all_conditions().map(str::to_owned).collect(),
        }
    }

    /// Returns the answers for ever that cover the operation: what [`Scope::standing`] records, and one about this very
    /// operation.
    pub fn standings(&self) -> [StandingAnswer; 2] {
        let exact = Self {
            coverage: Coverage::Exact,
            ..self.clone()
        };
        [self.standing(), exact.standing()]
    }

    /// Whether an answer for the session may be offered.
    pub fn may_be_granted(&self) -> bool {
        self.coverage != Coverage::Once
    }

    /// Whether `acceptAlways` may be offered. Answers about resources beyond this machine are not remembered.
    pub fn may_be_remembered(&self) -> bool {
        self.may_be_granted() && self.kind != ApprovalKind::RemoteResource
    }
}

/// An answer for ever: equal operations run without a question, in every Thread of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingAnswer {
    /// Kind.
    pub kind: ApprovalKind,
    /// Command line or file operation, as the Approval showed it.
    pub operation: String,
    /// Working directory or absolute path.
    pub target: String,
    /// Facts besides the operation that the answer depends on.
    pub conditions: Vec<String>,
}

impl StandingAnswer {
    /// Returns the text that a store records for the operation: the operation and its conditions, separated by zero
    /// bytes.
    pub fn recorded_operation(&self) -> String {
        let mut operation = self.operation.clone();
        for condition in &self.conditions {
            operation.push('\0');
            operation.push_str(condition);
        }
        operation
    }

    /// Returns the answer from its stored record.
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

/// A request for a user's permission that is not settled yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its id, the wire's `requestId`.
    pub id: ApprovalId,
    /// The Turn that waits for the answer.
    pub turn: TurnId,
    /// Its `approvalRequest` Item.
    pub item: ItemId,
    /// The tool call that waits for the answer.
    pub call_id: String,
    /// The operation that needs permission.
    pub scope: Scope,
    /// Sentence for the user.
    pub reason: String,
    /// When it was opened.
    pub opened_at: UnixMillis,
    /// When the server declines it.
    pub expires_at: UnixMillis,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_policies_the_stricter_lets_less_happen() {
        use ApprovalPolicy::{Ask, AskWrites, AutoApprove, Default, Interrupt, Sandboxed};
        for (one, other, wanted) in [
            (Ask, Default, Ask),
            (Ask, Sandboxed, Ask),
            (Ask, AskWrites, AskWrites),
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

    #[test]
    fn two_policies_ask_about_changes_of_files() {
        use ApprovalPolicy::{Ask, AskWrites, AutoApprove, Default, Interrupt, Refuse, Sandboxed};
        let all = [Default, Ask, Sandboxed, AutoApprove, Interrupt, AskWrites, Refuse];
        let asking: Vec<_> = all
            .into_iter()
            .filter(|policy| policy.asks_about_writes())
            .collect();
        assert_eq!(asking, [AskWrites, Refuse]);
    }

    #[test]
    fn what_an_answer_covers_is_stored_unless_it_is_equal_operations() {
        for coverage in [Coverage::Once, Coverage::Exact, Coverage::Head("git diff".into())] {
            let scope = Scope {
                coverage: coverage.clone(),
                ..Scope::new(ApprovalKind::Shell, "git diff a", "/w")
            };
            let stored = serde_json::to_value(&scope).unwrap();
            assert_eq!(
                stored.get("coverage").is_none(),
                coverage == Coverage::Exact,
                "{stored}"
            );
            assert_eq!(serde_json::from_value::<Scope>(stored).unwrap(), scope);
        }
    }

    #[test]
    fn an_answer_for_ever_is_read_back_with_its_conditions() {
        for conditions in [vec![], vec!["sha256 of make".to_owned(), "PATH".to_owned()]] {
            let answer = StandingAnswer {
                kind: ApprovalKind::Shell,
                operation: "make all".into(),
                target: "/w".into(),
                conditions,
            };
            let record = answer.recorded_operation();
            assert_eq!(
                StandingAnswer::from_record(answer.kind, &record, "/w".into()),
                answer
            );
        }
    }
}
