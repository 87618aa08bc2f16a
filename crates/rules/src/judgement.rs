//! What a judgement says: the word itself, what decided it, and the same for each command of a line.

use std::fmt;

use crate::Concern;

/// What may happen. Ordered: of several judgements the highest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Judgement {
    /// It may be done without a question.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused; nobody is asked.
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

/// What decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Because {
    /// A rule; its place in [`RuleSet::rules`](crate::RuleSet::rules).
    Rule(usize),
    /// It does no more than the reading tools, which are not asked about either.
    PlainRead,
    /// Something in it keeps it from being allowed.
    Concern(Concern),
    /// No rule speaks of it.
    NoRule,
}

/// The judgement of one command of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The command as the shell would see it, its words joined by spaces, at most 200 characters.
    pub text: String,
    /// The judgement.
    pub judgement: Judgement,
    /// What decided it.
    pub because: Because,
}

/// The judgement of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The judgement.
    pub judgement: Judgement,
    /// What decided it.
    pub because: Because,
    /// Every command that was found in it, in order, those inside of others included.
    pub parts: Vec<Part>,
    /// What keeps the line as a whole from being allowed.
    pub concerns: Vec<Concern>,
    /// Names of the programs in it, as far as they are known; each once.
    pub programs: Vec<String>,
    /// Whether a rule asks about a part of it, or may be about one: then no earlier answer counts.
    pub rule_asks: bool,
    /// How it begins, if lines that begin so differ only by what they are about: `git diff`.
    pub head: Option<String>,
}

impl Verdict {
    /// Whether every part of the line was held against the rules. Where it was not, a rule that refuses may have been
    /// passed by.
    pub fn is_whole(&self) -> bool {
        self.missed().is_none()
    }

    /// Returns why a part of the line was not held against the rules.
    pub fn missed(&self) -> Option<&Concern> {
        let missed = |concern: &&Concern| {
            matches!(
                concern,
                Concern::TooMuch
                    | Concern::Unreadable
                    | Concern::Place
                    | Concern::Below(_)
                    | Concern::Hidden(_)
                    | Concern::HiddenCommands
            )
        };
        self.concerns.iter().find(missed)
    }
}
