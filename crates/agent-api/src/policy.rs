//! What may be done: the contract between tools and the rules of users.
//!
//! The core has no rules of its own; it hands its [`Policy`] to the tools that prepare calls. A
//! ruling comes before every Approval: what is allowed is not asked about, and what is refused is not either.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_model::{ApprovalKind, ApprovalPolicy, Coverage, Scope};

pub use bobbin_model::Judgement;

/// What is done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAccess {
    /// It is read or listed.
    Read,
    /// It is written or changed.
    Write,
}

/// The bound that ended a search for the files that rules refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchBound {
    /// Most files and directories that are looked at.
    Entries(usize),
    /// Most places that are hidden, with the directories on the way to them.
    Places(usize),
    /// A directory of the user's whose mode keeps even them from looking: a command could undo that.
    Closed,
}

impl fmt::Display for SearchBound {
    /// Writes why not all could be hidden, as half a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries(most) => write!(f, "there are more than {most} files and directories to look at"),
            Self::Closed => {
                f.write_str("a directory of yours cannot be listed or entered (`chmod u+rwx` opens it)")
            }
            Self::Places(most) => write!(f, "to hide them takes more than {most} files and directories"),
        }
    }
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
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is one fact about the line"
)]
pub struct CommandRuling {
    /// The judgement of the line.
    pub ruling: Ruling,
    /// The judgements of the commands that were found in it, as they are shown.
    pub commands: Vec<(String, Ruling)>,
    /// What keeps the line as a whole from being allowed; half sentences.
    pub concerns: Vec<String>,
    /// Why it must not run where no user is asked, as half a sentence: there are rules that refuse, and a part of the
    /// line could not be held against them.
    pub unseen: Option<String>,
    /// Whether a rule asks about a part of it, or may be about one: then no earlier answer counts.
    pub rule_asks: bool,
    /// Whether it changes the settings of a git repository, such as `git remote add`. Sandboxed commands only
    /// read these, unless a user or a rule allows this line.
    pub changes_git_settings: bool,
    /// Whether it takes away what an undo cannot bring back, such as `.git`. A user is asked also where everything that
    /// the sandbox confines runs unasked.
    pub loses: bool,
    /// Whether it only reads in the workspace once [`Policy::reserved`] entries are hidden from it.
    pub shows_reserved: bool,
    /// Its programs, if all that it does beside reading is to test, check or build the project: `pytest`. An answer about
    /// it in the sandbox covers all lines with these programs there.
    pub project_programs: Option<String>,
    /// How it begins, if lines that begin so differ only by what they are about: `git diff`.
    pub head: Option<String>,
    /// Whether it is one program and nothing else: no shell, no interpreter, nothing that its words have it run.
    pub single_program: bool,
    /// Names of the programs in it, as far as they are known.
    pub names: Vec<String>,
    /// Those of them that start files which the agent may write.
    pub programs: Vec<WritableProgram>,
}

/// A program that a command line starts and that the agent may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritableProgram {
    /// Where it lies, absolute.
    pub path: PathBuf,
    /// Digest of its content; `None` where it cannot be read, is too long, or may be another file by the time it starts.
    pub digest: Option<String>,
}

impl CommandRuling {
    /// Returns what is asked for when the line is to be run in `directory`, and how far an answer reaches.
    pub fn scope(&self, command: &str, directory: &Path) -> Scope {
        let mut scope = Scope::new(ApprovalKind::Shell, command.trim(), directory.to_string_lossy());
        if self.rule_asks || self.programs.iter().any(|program| program.digest.is_none()) {
            return scope.once();
        }
        if let (Some(head), []) = (&self.head, self.programs.as_slice()) {
            scope.coverage = Coverage::Head(head.clone());
        }
        let condition = |program: &WritableProgram| {
            let digest = program.digest.as_deref().unwrap_or_default();
            format!("{} sha256:{digest}", program.path.display())
        };
        scope.conditions = self.programs.iter().map(condition).collect();
        scope
    }

    /// Returns the same for a line that the sandbox confines.
    pub fn confined_scope(&self, command: &str, directory: &Path) -> Scope {
        let scope = self.scope(command, directory);
        match &self.project_programs {
            Some(programs) if !self.rule_asks => Scope {
                coverage: Coverage::Programs(programs.clone()),
                // Such a program runs files that the agent may write, whatever its own content is.
                conditions: Vec::new(),
                ..scope
            },
            _ => scope,
        }
    }

    /// Whether the line runs unasked where everything that the sandbox confines does.
    pub fn may_run_confined(&self) -> bool {
        // Settings of git act outside of the sandbox.
        !self.rule_asks && self.unseen.is_none() && !self.changes_git_settings && !self.loses
    }

    /// Whether it is proved that the line only reads in the workspace: no rule was needed to allow any part of it.
    pub fn only_reads(&self) -> bool {
        let proved = |ruling: &Ruling| ruling.judgement == Judgement::Allow && ruling.rule.is_none();
        proved(&self.ruling) && self.commands.iter().all(|(_, ruling)| proved(ruling))
    }

    /// Returns why the line must not run, whatever a user might answer, as half a sentence: a rule refuses it, or nobody
    /// is asked and a part of it could not be held against the rules that refuse. To be asked before a line is run.
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

    /// Returns the rules in force, in the order in which they are written.
    fn rules(&self) -> Vec<AppliedRule> {
        Vec::new()
    }

    /// Returns these rules with further ones that allow, as `bobbin exec --allow` takes them: `tool:NAME`, `path:PATTERN` or
    /// a pattern of commands. Rules that ask or refuse go on counting.
    ///
    /// # Errors
    /// Why one cannot be used, as a sentence for its user.
    fn allowing(&self, rules: &[String]) -> Result<Arc<dyn Policy>, String> {
        let _ = rules;
        Err("no rules are taken here".to_owned())
    }

    /// Returns files and directories, absolute and there now, that a rule keeps every command in `root` from reading. Looks
    /// at the disk.
    ///
    /// # Errors
    /// A bound was reached, so that some may not have been found.
    fn refused(&self, root: &Path) -> Result<Vec<PathBuf>, SearchBound> {
        let _ = root;
        Ok(Vec::new())
    }

    /// Returns the entries of `root`, absolute and there now, that plain reads leave out: those of git and of the server, and
    /// files with secrets. Looks at the disk.
    ///
    /// # Errors
    /// A bound was reached, so that some may not have been found.
    fn reserved(&self, root: &Path) -> Result<Vec<PathBuf>, SearchBound> {
        let _ = root;
        Ok(Vec::new())
    }

    /// Whether a resolved path is a file with the output of a command, which the result of its call names: it is read
    /// without a question.
    fn is_output(&self, _path: &Path) -> bool {
        false
    }

    /// Returns those programs that names start in `root` now and that the agent may write. Looks at the disk and reads
    /// bounded files.
    fn programs(&self, names: &[String], root: &Path) -> Vec<WritableProgram> {
        let _ = (names, root);
        Vec::new()
    }

    /// Returns the search path without the places that the agent may write; `None` leaves it as it is. A line that runs
    /// unasked gets it: its names start then what they started when it was judged.
    fn search_path(&self, root: &Path) -> Option<OsString> {
        let _ = root;
        None
    }

    /// Returns the user's home, which is what `~/` means at the beginning of a path.
    fn home(&self) -> Option<&Path> {
        None
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
            rule_asks: false,
            changes_git_settings: false,
            loses: false,
            shows_reserved: false,
            project_programs: None,
            head: None,
            single_program: false,
            names: Vec::new(),
            programs: Vec::new(),
        }
    }

    fn path(&self, _access: PathAccess, _path: &Path, _root: &Path) -> Option<Ruling> {
        None
    }

    fn tool(&self, _name: &str) -> Option<Ruling> {
        None
    }
}
