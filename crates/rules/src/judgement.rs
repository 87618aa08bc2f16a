//! Judgements: the value, its reason, and both for each command of a line.

use std::fmt;

use crate::Ambiguity;

/// Whether an operation may run. Ordered: the highest of several judgements counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Judgement {
    /// The operation may run without a question.
    Allow,
    /// The user is asked.
    Ask,
    /// The operation is refused without a question.
    Deny,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// The reason for a judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Because {
    /// A rule, by its index in [`RuleSet::rules`](crate::RuleSet::rules).
    Rule(usize),
    /// The command does no more than the reading tools, which run without a question too.
    PlainRead,
    /// It is not allowed because of an ambiguity.
    Ambiguity(Ambiguity),
    /// It would only read, and searches a directory with something reserved in it.
    ShowsReserved,
    /// No rule fits it.
    NoRule,
}

/// The judgement of one command of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The command as the shell sees it: its words joined by spaces, at most 200 characters.
    pub text: String,
    /// The judgement.
    pub judgement: Judgement,
    /// The reason.
    pub because: Because,
}

/// The judgement of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is one fact about the line"
)]
pub struct Verdict {
    /// The judgement.
    pub judgement: Judgement,
    /// The reason.
    pub because: Because,
    /// Every command found in it, in order, nested commands included.
    pub parts: Vec<Part>,
    /// The ambiguities about the line as a whole.
    pub ambiguities: Vec<Ambiguity>,
    /// The known names of its programs, each once.
    pub programs: Vec<String>,
    /// Whether a rule asks about a part of it, or may. Then no earlier answer counts.
    pub rule_asks: bool,
    /// Whether it only reads in the workspace once the reserved entries of the directories that it searches are hidden.
    pub shows_reserved: bool,
    /// Whether a command in it changes the settings of a git repository.
    pub changes_git_settings: bool,
    /// Whether a command in it takes away what an undo cannot bring back, such as `.git`.
    pub loses: bool,
    /// Its programs, if all that it does beside reading is to test, check or build the project: `pytest`.
    pub project_programs: Option<String>,
    /// Its head, if lines with this head differ only in their subject: `git diff`.
    pub head: Option<String>,
    /// Whether the line is one program and nothing else: no shell, no interpreter, nothing that its words have it run.
    pub single_program: bool,
}

impl Verdict {
    /// Whether every part of the line was compared with the rules. If not, a refusing rule may have been missed.
    pub fn is_whole(&self) -> bool {
        self.missed().is_none()
    }

    /// Returns why a part of the line was not compared with the rules.
    pub fn missed(&self) -> Option<&Ambiguity> {
        let missed = |ambiguity: &&Ambiguity| {
            matches!(
                ambiguity,
                Ambiguity::TooMuch
                    | Ambiguity::Unreadable
                    | Ambiguity::PathTarget
                    | Ambiguity::RefusedContents(_)
                    | Ambiguity::Hidden(_)
                    | Ambiguity::HiddenCommands
            )
        };
        self.ambiguities.iter().find(missed)
    }
}
