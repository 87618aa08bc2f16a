//! Commands: Markdown files whose text is sent as a user's message, with the arguments inserted.
//!
//! `.craft/commands/brew.md` is `/brew`, `.craft/commands/tea/brew.md` is `/tea:brew`. A plugin `tea-log` with
//! `commands/brew.md` has `/tea-log:brew`. Commands of other agents have the same form.

use std::collections::BTreeMap;
use std::path::Path;

use crate::front_matter::{Words, parts};
use crate::own::{COMPACT, OwnCommand};
use crate::place::{MAX_ENTRIES, PromptDirectory, is_name};
use crate::{PromptError, Prompts, Source};

/// Most levels of nested directories.
const MAX_DEPTH: usize = 4;
/// Most entries of a place that are examined, whatever they are: links can make few directories look like very many.
const MAX_LOOKED_AT: usize = 2_000;
/// Most bytes of a command with its arguments inserted.
const MAX_EXPANDED_BYTES: usize = 256 << 10;
/// Most characters of a description that is made from the text.
const DESCRIPTION_CHARS: usize = 100;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its name without the slash.
    pub name: String,
    /// The description in its file, or the beginning of its text.
    pub description: String,
    /// A hint for users about its arguments.
    pub hint: Option<String>,
    /// Its source. `None`: it comes with Bobbin.
    pub source: Option<Source>,
}

impl Prompts {
    /// Lists the commands by name, with those that come with Bobbin. A file of the same name counts instead of one of
    /// these, but for [`COMPACT`]. A file that cannot be read is left out, with a warning in the log.
    pub fn commands(&self) -> Vec<Command> {
        let mut found = BTreeMap::new();
        for place in self.places() {
            let mut left = MAX_LOOKED_AT;
            if let Some(directory) = &place.commands {
                walk(&place, directory, &place.prefix(), 1, &mut left, &mut found);
            }
        }
        for own in OwnCommand::ALL {
            let command = || Command {
                name: own.name.to_owned(),
                description: own.description.to_owned(),
                hint: None,
                source: None,
            };
            if own.name == COMPACT {
                found.insert(own.name.to_owned(), command());
            } else {
                found.entry(own.name.to_owned()).or_insert_with(command);
            }
        }
        found.into_values().collect()
    }

    /// Returns a command's text with the arguments inserted: `$ARGUMENTS` is all of them, `$1` to `$9` are single
    /// words, quoted as in a shell. If the text names none, the arguments are appended. If no command has this name, a
    /// command whose name differs in case only counts.
    ///
    /// # Errors
    /// There is no such command, its file cannot be read, or the result has more than 256 KiB.
    pub fn expand(&self, name: &str, arguments: &str) -> Result<String, PromptError> {
        let exact = self.expand_exactly(name, arguments);
        if !matches!(exact, Err(PromptError::NotFound { .. })) {
            return exact;
        }
        // Telephones start a message with a capital letter.
        let mut commands = self.commands().into_iter();
        match commands.find(|command| command.name.eq_ignore_ascii_case(name)) {
            Some(command) => self.expand_exactly(&command.name, arguments),
            None => exact,
        }
    }

    fn expand_exactly(&self, name: &str, arguments: &str) -> Result<String, PromptError> {
        let not_found = || PromptError::NotFound {
            what: "command",
            name: format!("/{name}"),
        };
        let too_large = || PromptError::TooLarge {
            what: format!("'/{name}' with its arguments"),
            limit: MAX_EXPANDED_BYTES,
        };
        let segments: Vec<&str> = name.split(':').collect();
        // The first may be a plugin.
        if segments.len() > MAX_DEPTH + 1 || !segments.iter().all(|segment| is_name(segment)) {
            return Err(not_found());
        }
        for place in self.places() {
            let Some(mut path) = place.commands.clone().filter(|_| name != COMPACT) else {
                continue;
            };
            let inside = match (&place.plugin, segments.as_slice()) {
                (None, inside) => inside,
                (Some(plugin), [first, inside @ ..]) if plugin.id == *first => inside,
                (Some(_), _) => continue,
            };
            let Some((last, directories)) = inside.split_last() else {
                continue;
            };
            path.extend(directories);
            path.push(format!("{last}.md"));
            if path.symlink_metadata().is_ok() {
                let text = place.read(&path)?;
                let body = place.filled_in(parts(&text).body.trim_end());
                return fill(&body, arguments.trim()).ok_or_else(too_large);
            }
        }
        if let Some(own) = OwnCommand::find(name) {
            return own.prompt(arguments).ok_or_else(too_large);
        }
        let mut waiting = self.waiting().filter_map(|place| place.commands.as_ref());
        let inside = format!("{}.md", segments.join("/"));
        let waits = waiting.any(|commands| commands.join(&inside).symlink_metadata().is_ok());
        Err(if waits {
            PromptError::NotTrusted {
                what: "command",
                name: format!("/{name}"),
            }
        } else {
            not_found()
        })
    }
}

fn walk(
    place: &PromptDirectory,
    directory: &Path,
    prefix: &str,
    depth: usize,
    left: &mut usize,
    found: &mut BTreeMap<String, Command>,
) {
    for entry in place.names(directory) {
        if found.len() >= MAX_ENTRIES || *left == 0 {
            return;
        }
        *left -= 1;
        let path = directory.join(&entry);
        if let Some(stem) = entry.strip_suffix(".md").filter(|stem| is_name(stem)) {
            let name = format!("{prefix}{stem}");
            if found.contains_key(&name) {
                continue;
            }
            match place.read(&path) {
                Ok(text) => {
                    let parts = parts(&text);
                    let hint = parts.head.argument_hint.map(Words::written);
                    let command = Command {
                        name: name.clone(),
                        description: parts
                            .head
                            .description
                            .filter(is_said)
                            .unwrap_or_else(|| beginning(parts.body)),
                        hint: hint.filter(is_said),
                        source: Some(place.source),
                    };
                    found.insert(name, command);
                }
                Err(error) => tracing::warn!(%error, "a command is left out"),
            }
        } else if depth < MAX_DEPTH && path.is_dir() {
            let prefix = format!("{prefix}{entry}:");
            walk(place, &path, &prefix, depth + 1, left, found);
        }
    }
}

#[expect(clippy::ptr_arg, reason = "an Option of String filters by it")]
fn is_said(text: &String) -> bool {
    !text.trim().is_empty()
}

/// Returns the first line with a text.
fn beginning(body: &str) -> String {
    let mut lines = body.lines().map(|line| line.trim_start_matches('#').trim());
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    first.chars().take(DESCRIPTION_CHARS).collect()
}

/// Inserts arguments into a text in one pass: `$1` inside an argument is not replaced.
pub(crate) fn fill(text: &str, arguments: &str) -> Option<String> {
    let words = shell_words::split(arguments)
        // An unclosed quote is an ordinary character.
        .unwrap_or_else(|_| arguments.split_whitespace().map(ToOwned::to_owned).collect());
    let mut filled = String::with_capacity(text.len() + arguments.len());
    let mut rest = text;
    let mut named = false;
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let (put, used) = if behind.starts_with("ARGUMENTS") {
            (arguments, "ARGUMENTS".len())
        } else if let Some(digit) = single_digit(behind) {
            (words.get(digit - 1).map_or("", String::as_str), 1)
        } else {
            filled.push('$');
            rest = behind;
            continue;
        };
        named = true;
        filled.push_str(put);
        rest = &behind[used..];
        if filled.len() > MAX_EXPANDED_BYTES {
            return None;
        }
    }
    filled.push_str(rest);
    if !named && !arguments.is_empty() {
        filled.extend(["\n\n", arguments]);
    }
    (filled.len() <= MAX_EXPANDED_BYTES).then_some(filled)
}

/// Returns the digit 1 to 9 at the beginning of a text, unless another digit follows: `$10` is an amount of money.
fn single_digit(text: &str) -> Option<usize> {
    let mut letters = text.bytes();
    let digit = letters.next().filter(|byte| (b'1'..=b'9').contains(byte))?;
    let alone = !letters.next().is_some_and(|byte| byte.is_ascii_digit());
    alone.then(|| usize::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::Machine;

    fn prompts(workspace: &[(&str, &str)], home: &[(&str, &str)]) -> (tempfile::TempDir, Prompts) {
        let dir = tempfile::tempdir().unwrap();
        for (root, files) in [("workspace", workspace), ("home", home)] {
            for (name, text) in files {
                let path = dir.path().join(root).join(".craft/commands").join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
        }
        let home = Some(dir.path().join("home"));
        let prompts = Prompts::new(dir.path().join("workspace"), home, Machine::default());
        (dir, prompts)
    }

    #[rstest]
    #[case::nothing_to_put("Boil.", "", "Boil.")]
    #[case::behind("Boil.", "two cups", "Boil.\n\ntwo cups")]
    #[case::all("Boil $ARGUMENTS now.", "two cups", "Boil two cups now.")]
    #[case::single("Boil $2, then $1.", "milk 'green tea'", "Boil green tea, then milk.")]
    #[case::missing("Boil $1 and $2.", "milk", "Boil milk and .")]
    #[case::not_again("Boil $1.", "$2 x", "Boil $2.")]
    #[case::money("It costs $10 and $5x, $.", "", "It costs $10 and x, $.")]
    #[case::open_quote("Boil $1.", "it's", "Boil it's.")]
    fn arguments_are_put_where_the_text_names_them(
        #[case] text: &str,
        #[case] arguments: &str,
        #[case] expected: &str,
    ) {
        let (_dir, prompts) = prompts(&[("boil.md", text)], &[]);
        assert_eq!(prompts.expand("boil", arguments).unwrap(), expected);
    }

    #[test]
    fn commands_are_named_by_their_files_and_the_workspaces_come_first() {
        let (_dir, prompts) = prompts(
            &[
                ("brew.md", "---\ndescription: Makes tea\n---\nBrew."),
                ("tea/green.md", "# Green\n\nBrew green."),
                ("notes.txt", "x"),
                (".hidden.md", "x"),
                ("a b.md", "x"),
                ("bad.md", "\u{0}"),
            ],
            &[("brew.md", "Brew at home."), ("clean.md", "Clean.")],
        );
        let listed: Vec<_> = prompts
            .commands()
            .into_iter()
            .filter_map(|command| Some((command.name, command.description, command.source?)))
            .collect();
        let row = |name: &str, description: &str, source| (name.to_owned(), description.to_owned(), source);
        assert_eq!(
            listed,
            [
                row("bad", "\u{0}", Source::Workspace),
                row("brew", "Makes tea", Source::Workspace),
                row("clean", "Clean.", Source::User),
                row("tea:green", "Green", Source::Workspace),
            ]
        );
        assert_eq!(prompts.expand("brew", "").unwrap(), "Brew.");
        assert_eq!(prompts.expand("Brew", "").unwrap(), "Brew.");
        assert_eq!(prompts.expand("tea:green", "").unwrap(), "# Green\n\nBrew green.");
    }

    #[test]
    fn commands_of_other_agents_are_found_after_our_own() {
        let (dir, prompts) = prompts(&[("brew.md", "Ours.")], &[("fill.md", "At home.")]);
        for (path, text) in [
            ("workspace/.claude/commands/brew.md", "Claude's."),
            (
                "workspace/.claude/commands/pots/boil.md",
                "---\nallowed-tools: Bash(rm:*)\nargument-hint: [pot] [level]\ndescription: Boil: $1\n---\nBoil $1.\n!`rm x`",
            ),
            ("workspace/.agents/commands/none.md", "x"),
            ("workspace/.codex/prompts/none.md", "x"),
            ("home/.claude/commands/fill.md", "Claude's at home."),
            ("home/.codex/prompts/fill.md", "Codex's."),
            ("home/.codex/prompts/sip.md", "Sip $ARGUMENTS with $CARE."),
        ] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let listed: Vec<_> = prompts
            .commands()
            .into_iter()
            .filter_map(|command| Some((command.name, command.hint, command.source?)))
            .collect();
        let row = |name: &str, hint: Option<&str>, source| (name.to_owned(), hint.map(str::to_owned), source);
        assert_eq!(
            listed,
            [
                row("brew", None, Source::Workspace),
                row("fill", None, Source::User),
                row("pots:boil", Some("[pot] [level]"), Source::Workspace),
                row("sip", None, Source::User),
            ]
        );
        assert_eq!(prompts.expand("brew", "").unwrap(), "Ours.");
        assert_eq!(prompts.expand("fill", "").unwrap(), "At home.");
        assert_eq!(prompts.expand("pots:boil", "two").unwrap(), "Boil two.\n!`rm x`");
        assert_eq!(prompts.expand("sip", "it").unwrap(), "Sip it with $CARE.");
        let untrusted = prompts.trusted_while(Box::new(|_| false));
        let names: Vec<_> = untrusted
            .commands()
            .into_iter()
            .map(|command| command.name)
            .collect();
        assert_eq!(names, ["compact", "fill", "init", "review", "sip"]);
        let waits = untrusted.expand("pots:boil", "").unwrap_err();
        assert!(matches!(waits, PromptError::NotTrusted { .. }), "{waits}");
    }

    #[test]
    fn a_home_that_is_served_has_the_commands_of_codex_too() {
        let dir = tempfile::tempdir().unwrap();
        let codex = dir.path().join(".codex/prompts");
        std::fs::create_dir_all(&codex).unwrap();
        std::fs::write(codex.join("sip.md"), "Sip.").unwrap();
        let prompts = Prompts::new(dir.path().into(), Some(dir.path().into()), Machine::default());
        assert_eq!(prompts.expand("sip", "").unwrap(), "Sip.");
    }

    #[test]
    fn own_commands_are_there_until_a_file_has_their_name() {
        let (_dir, prompts) = prompts(&[("review.md", "Read $1."), ("compact.md", "Squeeze.")], &[]);
        let listed: Vec<_> = prompts
            .commands()
            .into_iter()
            .map(|command| (command.name, command.source.is_some()))
            .collect();
        let row = |name: &str, is_file| (name.to_owned(), is_file);
        assert_eq!(
            listed,
            [row("compact", false), row("init", false), row("review", true)]
        );
        assert_eq!(prompts.expand("review", "all").unwrap(), "Read all.");
        assert!(prompts.expand("init", "").unwrap().contains("AGENTS.md"));
        assert!(prompts.expand("compact", "").unwrap().starts_with("Compact"));
        let review = OwnCommand::find("review")
            .unwrap()
            .prompt("the branch main")
            .unwrap();
        assert!(review.contains("What to review: the branch main\n"), "{review}");
    }

    #[test]
    fn links_in_a_circle_are_walked_for_a_bounded_while() {
        let (dir, prompts) = prompts(&[("z.md", "x")], &[]);
        let commands = dir.path().join("workspace/.craft/commands");
        for number in 0..400 {
            std::os::unix::fs::symlink(".", commands.join(format!("a{number}"))).unwrap();
        }
        assert!(prompts.commands().len() < MAX_LOOKED_AT);
    }

    #[test]
    fn what_is_not_there_or_too_long_is_told() {
        let (_dir, prompts) = prompts(&[("echo.md", &"$ARGUMENTS ".repeat(5000))], &[]);
        for name in ["", "none", "../echo", "echo.md/..", "a:b:c:d:e", "/echo"] {
            let error = prompts.expand(name, "").unwrap_err();
            assert!(matches!(error, PromptError::NotFound { .. }), "{name}: {error}");
        }
        let error = prompts.expand("echo", &"x".repeat(1000)).unwrap_err();
        assert!(matches!(error, PromptError::TooLarge { .. }), "{error}");
    }
}
