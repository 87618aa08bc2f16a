//! Why a command line, or a command in it, cannot be allowed without a question.

use std::fmt;

/// A reason not to allow a command line without a question. Its text is for the user.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ambiguity {
    /// The line is longer, deeper or has more commands than the limits.
    TooMuch,
    /// It is empty, or has a character no plain command has.
    Character,
    /// The parser could not parse it.
    Unreadable,
    /// The output of a command becomes part of the line.
    Substitution,
    /// A variable or an arithmetic value becomes part of the line.
    Expansion,
    /// Its words depend on existing files, or on braces.
    Pattern,
    /// It passes a text as the input of a command.
    HereDocument,
    /// It sets variables, for itself or for later commands.
    Assignment,
    /// It writes or reads a file by redirection.
    Redirection,
    /// It starts a command in the background.
    Background,
    /// It has a loop, a condition, a group or a function.
    Compound,
    /// It uses a part of the shell's language that is not judged; the name of that part.
    Unusual(String),
    /// The two readers of the line disagree.
    Disagreement,
    /// The program's name is known only at run time.
    DynamicName,
    /// A word is known only at run time, and a rule may refuse it; the word.
    Hidden(String),
    /// A shell takes its commands from an unknown source, and rules refuse some commands.
    HiddenCommands,
    /// The shell changes its directory in a way that is not followed.
    Whereabouts,
    /// A path in the line leads to a different place in each process.
    PathTarget,
    /// The command changes how the shell treats later commands, or runs a text; its name.
    ShellState(String),
    /// A shell takes its commands from another source.
    ShellInput(String),
    /// The command runs another one in a way that needs the user's permission; its name.
    Wrapper(String),
    /// The arguments of a command that runs others are not understood; its name.
    WrapperArguments(String),
    /// An option makes the command do something that the rule does not cover; the option.
    Hazard(String),
    /// Its arguments mention something that another rule is about; that rule.
    Mentions(usize),
    /// It reads a directory that contains something a rule for paths refuses; that rule.
    RefusedContents(usize),
}

impl fmt::Display for Ambiguity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooMuch => "it is too long to be judged",
            Self::Character => "it is empty or has characters that no plain command has",
            Self::Unreadable => "it cannot be read as a shell command",
            Self::Substitution => "the output of a command becomes part of it",
            Self::Expansion => "the value of a variable becomes part of it",
            Self::Pattern => "its words depend on which files there are",
            Self::HereDocument => "it carries a text as input",
            Self::Assignment => "it sets variables",
            Self::Redirection => "it redirects into or from a file",
            Self::Background => "it leaves a command running in the background",
            Self::Compound => "it has a loop, a condition, a group or a function",
            Self::Unusual(what) => {
                return write!(
                    f,
                    "it uses a part of the shell's language that is not judged ({what})"
                );
            }
            Self::Disagreement => "it can be read in more than one way",
            Self::DynamicName => "what it runs is known only when it runs",
            Self::Hidden(what) => {
                return write!(
                    f,
                    "what `{what}` stands for is known only when it runs, and may be what a rule refuses: write it out"
                );
            }
            Self::HiddenCommands => {
                "a shell takes its commands from where they are not seen, and rules refuse some: write them in the line"
            }
            Self::Whereabouts => "the shell's directory after it is not known",
            Self::PathTarget => "where a path in it leads is known only when it runs",
            Self::ShellState(name) => {
                return write!(
                    f,
                    "{name} changes how the shell understands what follows, or runs a text"
                );
            }
            Self::ShellInput(name) => return write!(f, "{name} takes its commands from elsewhere"),
            Self::Wrapper(name) => {
                return write!(
                    f,
                    "{name} runs another command in a way that needs a person's approval"
                );
            }
            Self::WrapperArguments(name) => return write!(f, "it is not clear what {name} runs"),
            Self::Hazard(option) => {
                return write!(f, "the option {option} makes it do more than the rule says");
            }
            Self::RefusedContents(_) => "a rule for paths refuses files in a directory that it reads",
            Self::Mentions(_) => "its arguments name something that another rule is about",
        })
    }
}
