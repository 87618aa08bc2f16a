//! The contract between tools and the rules of users.
//!
//! The core has no rules of its own; it passes its [`Policy`] to the tools that prepare calls. A ruling comes before every
//! Approval: the user is not asked about a call that is allowed or refused.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_model::{ApprovalKind, ApprovalPolicy, Coverage, Scope};

pub use bobbin_model::Judgement;

/// Access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAccess {
    /// Reads or lists it.
    Read,
    /// Writes or changes it.
    Write,
}

/// The bound that ended a search for files that rules refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchBound {
    /// Most files and directories that are visited.
    Entries(usize),
    /// Most paths that are hidden, including the directories on the way to them.
    Places(usize),
    /// A directory of the user cannot be listed because of its mode, which a command could change.
    Closed,
}

impl fmt::Display for SearchBound {
    /// Writes the reason why the search is incomplete, as half a sentence.
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

/// The rule that decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedRule {
    /// The rule, in one line.
    pub rule: String,
    /// The place where it is written.
    pub source: String,
    /// Its author's reason.
    pub reason: Option<String>,
}

/// A judgement and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// The judgement.
    pub judgement: Judgement,
    /// The reason: half a sentence that starts with a small letter and has no full stop.
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
    /// The judgements of the commands in it, with each command as users see it.
    pub commands: Vec<(String, Ruling)>,
    /// Reasons why the whole line cannot be allowed, as half sentences.
    pub concerns: Vec<String>,
    /// Reason why it must not run if no user is asked, as half a sentence: there are rules that refuse, and a part of the
    /// line could not be checked against them.
    pub unseen: Option<String>,
    /// Whether a rule asks about a part of it, or may do so. No earlier answer applies then.
    pub rule_asks: bool,
    /// Whether it changes the settings of a git repository, such as `git remote add`. Sandboxed commands may only read them,
    /// unless a user or a rule allows this line.
    pub changes_git_settings: bool,
    /// Whether it removes something that undo cannot restore, such as `.git`. The user is asked even if sandboxed commands
    /// otherwise run without a question.
    pub loses: bool,
    /// Whether it only reads in the workspace, provided that [`Policy::reserved`] entries are hidden from it.
    pub shows_reserved: bool,
    /// Its programs, if it does nothing but read, test, check and build the project: `pytest`. An Approval of it in the
    /// sandbox covers all sandboxed lines with the same programs.
    pub project_programs: Option<String>,
    /// Its first words, if lines that start with them differ only in their subject: `git diff`.
    pub head: Option<String>,
    /// Whether it is a single program: no shell, no interpreter, and no program started through its arguments.
    pub single_program: bool,
    /// Names of the programs in it, as far as known.
    pub names: Vec<String>,
    /// The programs among them whose files the agent may write.
    pub programs: Vec<WritableProgram>,
}

/// A program of a command line whose file the agent may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritableProgram {
    /// Its path, absolute.
    pub path: PathBuf,
    /// Digest of its content; `None` if the file cannot be read, is too long, or may be replaced before the program starts.
    pub digest: Option<String>,
}

impl CommandRuling {
    /// Returns the scope of an Approval of the line in `directory`.
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

    /// Returns the scope of an Approval of the line in the sandbox.
    pub fn confined_scope(&self, command: &str, directory: &Path) -> Scope {
        let scope = self.scope(command, directory);
        match &self.project_programs {
            Some(programs) if !self.rule_asks => Scope {
                coverage: Coverage::Programs(programs.clone()),
                // Such a program runs files that the agent may write, so its own content does not matter.
                conditions: Vec::new(),
                ..scope
            },
            _ => scope,
        }
    }

    /// Whether the line runs without a question if sandboxed commands do.
    pub fn may_run_confined(&self) -> bool {
        // Git's settings take effect outside of the sandbox.
        !self.rule_asks && self.unseen.is_none() && !self.changes_git_settings && !self.loses
    }

    /// Whether the line is proved to only read in the workspace. No rule was needed to allow any part of it.
    pub fn only_reads(&self) -> bool {
        let proved = |ruling: &Ruling| ruling.judgement == Judgement::Allow && ruling.rule.is_none();
        proved(&self.ruling) && self.commands.iter().all(|(_, ruling)| proved(ruling))
    }

    /// Returns the reason why the line must not run, whatever a user answers, as half a sentence. Either a rule refuses it,
    /// or no user is asked and a part of it could not be checked against the rules that refuse. Check this before each run.
    pub fn refusal(&self, approvals: ApprovalPolicy) -> Option<&str> {
        if self.ruling.judgement == Judgement::Deny {
            return Some(&self.ruling.reason);
        }
        let asks_nobody = approvals == ApprovalPolicy::AutoApprove;
        self.unseen.as_deref().filter(|_| asks_nobody)
    }
}

/// Judges commands, paths and tools by rules.
pub trait Policy: fmt::Debug + Send + Sync + 'static {
    /// Judges a command line that the system's shell would run in `root`. May read the disk; changes nothing.
    fn command(&self, command: &str, root: &Path) -> CommandRuling;

    /// Judges an access to a resolved path; `None` if no rule is about it.
    fn path(&self, access: PathAccess, path: &Path, root: &Path) -> Option<Ruling>;

    /// Judges the use of a tool with any arguments; `None` if no rule is about it.
    fn tool(&self, name: &str) -> Option<Ruling>;

    /// Returns the rules in force, in the order of their files.
    fn rules(&self) -> Vec<AppliedRule> {
        Vec::new()
    }

    /// Returns these rules with more rules that allow, as `bobbin exec --allow` takes them: `tool:NAME`, `path:PATTERN` or a
    /// pattern of commands. Rules that ask or refuse still apply.
    ///
    /// # Errors
    /// A rule is invalid; the text is a sentence for the user.
    fn allowing(&self, rules: &[String]) -> Result<Arc<dyn Policy>, String> {
        let _ = rules;
        Err("no rules are taken here".to_owned())
    }

    /// Returns the existing files and directories that rules forbid every command in `root` to read, absolute. Reads the
    /// disk.
    ///
    /// # Errors
    /// The search reached a bound, so the list may be incomplete.
    fn refused(&self, root: &Path) -> Result<Vec<PathBuf>, SearchBound> {
        let _ = root;
        Ok(Vec::new())
    }

    /// Returns the existing entries of `root` that plain reads skip, absolute: those of git and of the server, and files with
    /// secrets. Reads the disk.
    ///
    /// # Errors
    /// The search reached a bound, so the list may be incomplete.
    fn reserved(&self, root: &Path) -> Result<Vec<PathBuf>, SearchBound> {
        let _ = root;
        Ok(Vec::new())
    }

    /// Whether a resolved path is a file with a command's output, which the call's result names. It may be read without a
    /// question.
    fn is_output(&self, _path: &Path) -> bool {
        false
    }

    /// Returns the programs that `names` start in `root` now and whose files the agent may write. Reads the disk, within
    /// bounds.
    fn programs(&self, names: &[String], root: &Path) -> Vec<WritableProgram> {
        let _ = (names, root);
        Vec::new()
    }

    /// Returns the search path without directories that the agent may write; `None` leaves it unchanged. A line that runs
    /// without a question gets this path, so that its names start the programs that were judged.
    fn search_path(&self, root: &Path) -> Option<OsString> {
        let _ = root;
        None
    }

    /// Returns the user's home, for `~/` at the start of a path.
    fn home(&self) -> Option<&Path> {
        None
    }
}

/// The policy without rules: the user is asked about commands, and no ruling exists about paths and tools.
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
