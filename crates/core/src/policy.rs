//! Who says what may be done: the seam between those that act and the rules of people.
//!
//! The core has no rules of its own; it hands the [`Policy`] it was given to whoever prepares a call. A
//! ruling comes before every Approval: what is allowed is not asked about, and what is refused is not either.

use std::fmt;
use std::path::Path;

use bobbin_model::{ApprovalKind, ApprovalPolicy, Scope};

/// What may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// It may be done without a question.
    Allow,
    /// A person's word is needed, or a standing one.
    Ask,
    /// It is refused.
    Deny,
}

/// What is done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAccess {
    /// It is read or listed.
    Read,
    /// It is written or changed.
    Write,
}

/// A rule that decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedRule {
    /// The rule in one line.
    pub rule: String,
    /// Where it is written.
    pub source: String,
    /// Why, in the words of who wrote it.
    pub reason: Option<String>,
}

/// A judgement, and what decided it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// The judgement.
    pub judgement: Judgement,
    /// Why: half a sentence that begins with a small letter and has no full stop.
    pub reason: String,
    /// The rule that decided, if one did.
    pub rule: Option<AppliedRule>,
}

/// A judgement of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRuling {
    /// The judgement of the line.
    pub ruling: Ruling,
    /// The judgements of the commands that were found in it, as they are shown.
    pub commands: Vec<(String, Ruling)>,
    /// What keeps the line as a whole from being allowed; half sentences.
    pub concerns: Vec<String>,
    /// Why it must not run where nobody is asked, as half a sentence: there are rules that refuse, and a part of the
    /// line could not be held against them.
    pub unseen: Option<String>,
}

impl CommandRuling {
    /// Returns why the line must not run, whatever a person might say, as half a sentence: a rule refuses it, or nobody
    /// is asked and a part of it could not be held against the rules that refuse. Whoever runs a line asks here first.
    pub fn refusal(&self, approvals: ApprovalPolicy) -> Option<&str> {
        if self.ruling.judgement == Judgement::Deny {
            return Some(&self.ruling.reason);
        }
        let asks_nobody = approvals == ApprovalPolicy::AutoApprove;
        self.unseen.as_deref().filter(|_| asks_nobody)
    }
}

/// Says what may be done.
pub trait Policy: fmt::Debug + Send + Sync + 'static {
    /// Judges a command line that the system's shell would run in `root`. May look at the disk; changes nothing.
    fn command(&self, command: &str, root: &Path) -> CommandRuling;

    /// Judges a use of a resolved path; `None` when nothing is said of it.
    fn path(&self, access: PathAccess, path: &Path, root: &Path) -> Option<Ruling>;

    /// Judges the use of a tool, whatever its arguments; `None` when nothing is said of it.
    fn tool(&self, name: &str) -> Option<Ruling>;

    /// Whether a resolved path is a file with the output of a command, which the result of its call names: it is read
    /// without a question.
    fn is_output(&self, _path: &Path) -> bool {
        false
    }
}

/// The policy where there are no rules: commands are asked about, and nothing else is spoken of.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRules;

impl Policy for NoRules {
    fn command(&self, _command: &str, _root: &Path) -> CommandRuling {
        CommandRuling {
            ruling: Ruling {
                judgement: Judgement::Ask,
                reason: "no rule speaks of it".to_owned(),
                rule: None,
            },
            commands: Vec::new(),
            concerns: Vec::new(),
            unseen: None,
        }
    }

    fn path(&self, _access: PathAccess, _path: &Path, _root: &Path) -> Option<Ruling> {
        None
    }

    fn tool(&self, _name: &str) -> Option<Ruling> {
        None
    }
}

/// Returns what is asked for when a command line is to be run in `root`.
pub fn command_scope(command: &str, root: &Path) -> Scope {
    Scope {
        kind: ApprovalKind::Shell,
        operation: command.trim().to_owned(),
        target: root.to_string_lossy().into_owned(),
    }
}
