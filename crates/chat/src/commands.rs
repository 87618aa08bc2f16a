//! Commands of the prompt that this client carries out itself.

/// A command: its name, what may follow it, and what it does.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) argument: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) act: Act,
}

/// The act of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Archive,
    Compact,
    Diff,
    Edit,
    Effort,
    Fork,
    Help,
    Mcp,
    Mode,
    Model,
    New,
    Policy,
    Quit,
    Redo,
    Rename,
    Rules,
    Stop,
    Terminals,
    Theme,
    Threads,
    Undo,
    Usage,
    Waiting,
}

const fn command(name: &'static str, argument: &'static str, summary: &'static str, act: Act) -> Command {
    Command {
        name,
        argument,
        summary,
        act,
    }
}

/// The commands, in the order of the menu.
pub(crate) const COMMANDS: &[Command] = &[
    command("new", "", "Start a new thread", Act::New),
    command("resume", "", "Go on with another thread", Act::Threads),
    command("waiting", "", "Answer questions of other threads", Act::Waiting),
    command("model", "[NAME]", "Choose the model", Act::Model),
    command(
        "effort",
        "[LEVEL]",
        "Choose how much the model reasons",
        Act::Effort,
    ),
    command("mode", "[agent|plan]", "Plan first, or work", Act::Mode),
    command("policy", "[NAME]", "Choose when you are asked", Act::Policy),
    command("diff", "", "Show what the last turn changed", Act::Diff),
    command(
        "undo",
        "",
        "Put back the files that the last turn changed; again, the turn before it",
        Act::Undo,
    ),
    command(
        "redo",
        "",
        "Make the changes again that were undone last",
        Act::Redo,
    ),
    command("edit", "", "Go back to an earlier message", Act::Edit),
    command("fork", "", "Go on in a copy of this thread", Act::Fork),
    command(
        "compact",
        "",
        "Summarize the conversation for the model",
        Act::Compact,
    ),
    command("rename", "TITLE", "Give this thread a title", Act::Rename),
    command(
        "archive",
        "",
        "Archive this thread and start a new one",
        Act::Archive,
    ),
    command(
        "terminals",
        "",
        "Show the output of commands in the background",
        Act::Terminals,
    ),
    command("stop", "", "Stop a command in the background", Act::Stop),
    command("rules", "", "Show what runs without a question", Act::Rules),
    command("usage", "", "Show tokens and cost of this thread", Act::Usage),
    command("mcp", "", "Show the tool servers", Act::Mcp),
    command(
        "theme",
        "[dark|light|none]",
        "Choose the colours, also for later",
        Act::Theme,
    ),
    command("help", "", "Show commands and keys", Act::Help),
    command("quit", "", "Leave; a running turn goes on", Act::Quit),
];

/// The keys, for the help.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("Enter", "sends; while a turn runs, the text waits for its end"),
    (
        "Ctrl-S",
        "sends now: the running turn takes it up at its next step",
    ),
    ("Ctrl-J, Alt-Enter, \\ Enter", "a new line"),
    (
        "↑ ↓",
        "earlier prompts; with an empty prompt, takes back what waits",
    ),
    ("!", "and a command: runs it yourself, in the sandbox"),
    ("@", "files of the workspace; Tab completes"),
    (
        "Esc",
        "interrupts the turn; twice with an empty prompt, an earlier message",
    ),
    ("Shift-Tab", "plan first, or work"),
    ("Ctrl-T", "other threads"),
    ("Ctrl-Q", "questions of other threads"),
    ("Ctrl-O", "shows the whole output of the last call"),
    ("Ctrl-G", "edits the prompt in $EDITOR"),
    ("Ctrl-L", "draws the screen anew"),
    ("Ctrl-Z", "back to the shell; fg returns"),
    (
        "Ctrl-C",
        "clears the prompt, interrupts the turn, and leaves when pressed twice",
    ),
    ("Ctrl-D", "leaves"),
];

/// Names that are offered in place of an unknown one.
const NEAREST: usize = 3;

/// Returns the names that are most like another one, the nearest first. Of a name with a provider, the model counts too.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let last = name.rsplit('/').next().unwrap_or_default();
        let whole = strsim::jaro_winkler(&name, &wanted);
        whole.max(strsim::jaro_winkler(last, &wanted))
    };
    let mut found: Vec<(f64, &str)> = names.map(|name| (likeness(name), name)).collect();
    found.retain(|(likeness, _)| *likeness >= 0.75);
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.truncate(NEAREST);
    found.into_iter().map(|(_, name)| name).collect()
}

/// Returns the name of the command that a text asks for: `/` and a word without a second slash, which a path has.
pub(crate) fn command_of(text: &str) -> Option<&str> {
    let name = text.strip_prefix('/')?.split_whitespace().next()?;
    let is_in_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    (text.starts_with(&format!("/{name}")) && name.chars().all(is_in_name)).then_some(name)
}

/// Returns the command with this name.
pub(crate) fn find(name: &str) -> Option<&'static Command> {
    let is_it = |command: &&Command| command.name == name || command.act == Act::Threads && name == "threads";
    COMMANDS.iter().find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_word_behind_a_slash_and_a_path_is_none() {
        assert_eq!(command_of("/nonsense"), Some("nonsense"));
        assert_eq!(command_of("/tea:brew green"), Some("tea:brew"));
        for text in [
            "/etc/hosts is a file",
            "/",
            "/ x",
            "//",
            " /nonsense",
            "/*.rs",
            "nonsense",
            "",
        ] {
            assert_eq!(command_of(text), None, "{text}");
        }
    }

    #[test]
    fn the_nearest_names_are_offered() {
        let commands = || COMMANDS.iter().map(|command| command.name);
        assert_eq!(nearest("modle", commands()).first(), Some(&"model"));
        assert_eq!(nearest("NEW", commands()).first(), Some(&"new"));
        assert_eq!(nearest("xyzzy", commands()), [""; 0]);
        let models = ["anthropic/claude-sonnet-4-5", "openai/gpt-5.2", "offline"];
        assert_eq!(nearest("gpt5.2", models.into_iter()), ["openai/gpt-5.2"]);
        assert!(nearest("t", std::iter::repeat_n("t", 9)).len() <= NEAREST);
    }
}
