//! What a user types with a slash: commands of ours, prompts of tool servers, commands and skills in files.
//!
//! `config`, `costs`, `doctor` and `resume` answer from what is known; no model is asked and nothing is recorded. The
//! prompts that come with Bobbin, those of servers and what is in files start a Turn. A dialect answers `resume`, which
//! speaks of its chats.

use std::sync::Arc;

use bobbin_agent_api::engines::EngineCommand;
use bobbin_agent_api::tool_server::{PromptArgument, ServerPrompt, TypedPrompt, typed_prompt};
use bobbin_core::{CoreError, Threads};
use bobbin_model::{InputPart, Spent, ThreadId};
use bobbin_prompts::{OwnCommand, PromptError, Prompts};

use crate::{EditorServices, sentence};

const COMMANDS: [(&str, &str); 4] = [
    ("config", "Shows which configuration is in force."),
    ("costs", "Shows the tokens this chat has used and what they cost."),
    ("doctor", "Shows what works here."),
    ("resume", "Lists earlier chats, or opens one again: /resume ID."),
];
/// What a message asks for.
#[derive(Debug)]
pub enum Typed {
    /// The model.
    Model,
    /// A prompt of a server.
    Fill(TypedPrompt),
    /// An answer of ours.
    Run(Command),
    /// Perhaps a prompt of ours, or a command or a skill in a file; else a text for the model.
    Named(Named),
    /// Nothing that can be done; a sentence says why.
    Refuse(String),
}

/// A command of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// See [`config`].
    Config,
    /// See [`costs`].
    Costs,
    /// See [`doctor`].
    Doctor,
    /// Lists earlier chats, or opens the named one.
    Resume(Option<String>),
}

/// A command as menus list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandInfo {
    /// What follows the slash.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Where it comes from.
    pub kind: CommandKind,
}

/// Where a command comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind {
    /// It is ours.
    Own,
    /// A prompt of a server, with its arguments.
    Server(Vec<PromptArgument>),
    /// A command in a file, with what it says of its arguments.
    File(Option<String>),
    /// A skill in a file.
    Skill,
    /// The other agent that runs the Thread has it, with the text after its name in words.
    Agent(Option<String>),
}

/// Returns the commands that match a query: part of the name or the description, whatever the case. `agents` are those of
/// the other agent that runs the Thread; they come first, and replace others of the same name, except for those that a dialect answers.
/// Blocks on the disk.
pub fn matching(
    query: &str,
    agents: Vec<EngineCommand>,
    prompts: Vec<ServerPrompt>,
    files: Option<&Prompts>,
) -> Vec<CommandInfo> {
    let is_ours = |name: &str| COMMANDS.iter().any(|(own, _)| *own == name);
    let agents: Vec<CommandInfo> = agents
        .into_iter()
        .filter(|command| !is_ours(&command.name))
        .map(|command| CommandInfo {
            name: command.name,
            description: command.description,
            kind: CommandKind::Agent(command.hint),
        })
        .collect();
    let is_agents = |name: &str| agents.iter().any(|command| command.name == name);
    let query = query.trim().to_lowercase();
    let files = files.map(in_files).unwrap_or_default();
    let prompts_of_ours = OwnCommand::ALL.map(|own| (own.name, own.description));
    let prompts_of_ours = prompts_of_ours
        .into_iter()
        .filter(|(name, _)| !files.iter().any(|info| info.name == *name));
    let mut own: Vec<CommandInfo> = COMMANDS
        .into_iter()
        .chain(prompts_of_ours)
        .map(|(name, description)| CommandInfo {
            name: name.to_owned(),
            description: description.to_owned(),
            kind: CommandKind::Own,
        })
        .collect();
    own.sort_by(|one, other| one.name.cmp(&other.name));
    let servers = prompts.into_iter().map(|prompt| CommandInfo {
        name: format!("{}:{}", prompt.server, prompt.name),
        description: prompt.description,
        kind: CommandKind::Server(prompt.arguments),
    });
    let files = files.into_iter().filter(|info| !is_ours(&info.name));
    let matches = |text: &str| text.to_lowercase().contains(&query);
    let others = own.into_iter().chain(servers).chain(files);
    let others: Vec<CommandInfo> = others.filter(|info| !is_agents(&info.name)).collect();
    agents
        .into_iter()
        .chain(others)
        .filter(|info| matches(&info.name) || matches(&info.description))
        .collect()
}

/// Returns what a message asks for.
pub fn typed(message: &str, prompts: &[ServerPrompt]) -> Typed {
    let Some(rest) = message.strip_prefix('/') else {
        return Typed::Model;
    };
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = argument.trim();
    match word {
        "config" => Typed::Run(Command::Config),
        "costs" => Typed::Run(Command::Costs),
        "doctor" => Typed::Run(Command::Doctor),
        "resume" => Typed::Run(Command::Resume(
            (!argument.is_empty()).then(|| argument.to_owned()),
        )),
        _ => match typed_prompt(message, prompts) {
            Some(Ok(filling)) => Typed::Fill(filling),
            Some(Err(why)) => Typed::Refuse(why),
            None if word.is_empty() => Typed::Model,
            None => Typed::Named(Named {
                name: word.to_owned(),
                arguments: argument.to_owned(),
                typed: message.to_owned(),
            }),
        },
    }
}

/// Returns the commands and skills that users wrote as files; of two with one name, the command, also one of ours.
fn in_files(files: &Prompts) -> Vec<CommandInfo> {
    let written = files
        .commands()
        .into_iter()
        .filter(|command| command.source.is_some());
    let commands = written.map(|command| CommandInfo {
        name: command.name,
        description: command.description,
        kind: CommandKind::File(command.hint),
    });
    let mut found: Vec<CommandInfo> = commands.collect();
    for skill in files.skills() {
        let is_usable = skill.enabled && skill.unavailable.is_none();
        let is_taken = found.iter().any(|info| info.name == skill.name);
        if is_usable && !is_taken && OwnCommand::find(&skill.name).is_none() {
            found.push(CommandInfo {
                name: skill.name,
                description: skill.description,
                kind: CommandKind::Skill,
            });
        }
    }
    found
}

/// A word with a slash that stands for a prompt, if for anything.
#[derive(Debug)]
pub struct Named {
    name: String,
    arguments: String,
    typed: String,
}

impl Named {
    /// Returns the message that it stands for: of the prompt of ours, the command or the skill of that name, else as it
    /// was typed. A command of the other agent that runs the Thread, one of `agents`, is sent as it was typed, too. Blocks on
    /// the disk.
    ///
    /// # Errors
    /// A file of that name cannot be used: a sentence for the user.
    pub(crate) fn read(self, agents: &[EngineCommand], files: Option<&Prompts>) -> Result<InputPart, String> {
        let as_typed = InputPart::Text {
            text: self.typed.clone(),
        };
        if agents.iter().any(|command| command.name == self.name) {
            return Ok(as_typed);
        }
        let expanded = match files {
            None => Ok(OwnCommand::find(&self.name).and_then(|own| own.prompt(&self.arguments))),
            Some(files) => match files.expand(&self.name, &self.arguments) {
                Err(PromptError::NotFound { .. } | PromptError::NotTrusted { .. }) => self.skill(files),
                expanded => expanded.map(Some),
            },
        };
        match expanded {
            Ok(Some(expanded)) => Ok(InputPart::CommandRef {
                name: self.name,
                args_text: Some(self.arguments).filter(|text| !text.is_empty()),
                raw_text: Some(self.typed),
                expanded: Some(expanded),
            }),
            Ok(None) => Ok(as_typed),
            Err(error) => Err(error.to_string()),
        }
    }

    fn skill(&self, files: &Prompts) -> Result<Option<String>, PromptError> {
        match files.skill(&self.name) {
            Ok(skill) if skill.enabled && skill.unavailable.is_none() => {}
            Ok(_)
            | Err(PromptError::NotFound { .. } | PromptError::NotTrusted { .. } | PromptError::BadName(_)) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        let text = files.skill_text(&self.name)?.body;
        Ok(Some(format!(
            "Follow the skill '{}':\n\n{text}\n\n{}",
            self.name, self.arguments
        )))
    }
}

/// Says what a chat has used.
pub async fn costs(threads: &Arc<Threads>, thread: &ThreadId) -> String {
    let spent = match spent(threads, thread).await {
        Ok(spent) => spent,
        Err(error) => {
            let why = sentence(&error);
            return format!("\nWhat this chat has used cannot be read: {why}\n");
        }
    };
    match (spent.tokens, money(spent.cost_micros)) {
        (0, _) => "\nThis chat has used no tokens.\n".to_owned(),
        (tokens, None) => {
            format!(
                "\nThis chat has used {tokens} tokens. What they cost is not known: its models have no price.\n"
            )
        }
        (tokens, Some(cost)) => format!("\nThis chat has used {tokens} tokens, which cost {cost}.\n"),
    }
}

async fn spent(threads: &Arc<Threads>, thread: &ThreadId) -> Result<Spent, CoreError> {
    let handle = threads.thread(thread).await?;
    let snapshot = threads.snapshot(&handle).await?;
    threads.spent(&snapshot).await
}

/// Says which configuration is in force.
pub fn config(services: &EditorServices) -> String {
    let files = &services.config_files;
    if files.is_empty() {
        return "\nNo configuration file was found; the defaults are in force.\n".to_owned();
    }
    let files = files.iter().map(|file| format!("- {}\n", file.display()));
    format!("\nRead, later over earlier:\n{}", files.collect::<String>())
}

/// Says what works.
pub fn doctor(services: &EditorServices, tools: &[&str]) -> String {
    format!(
        "\nWorkspace: {}\nModel: {}\nTools: {}\nLive chats: {}\n",
        services.threads.settings().workspace.display(),
        services.models.usual(),
        tools.join(", "),
        services.threads.stats().live_threads,
    )
}

/// Returns millionths of a currency as a decimal number, with two places at least; nothing for nothing.
pub fn money(micros: u64) -> Option<String> {
    if micros == 0 {
        return None;
    }
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let least = text.len() - 4;
    Some(text[..least].to_owned() + text[least..].trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_a_decimal_number_with_two_places_at_least() {
        for (micros, text) in [
            (0, None),
            (1, Some("0.000001")),
            (4_500, Some("0.0045")),
            (10_000, Some("0.01")),
            (2_500_000, Some("2.50")),
            (7_000_000, Some("7.00")),
            (12_345_678, Some("12.345678")),
        ] {
            assert_eq!(money(micros).as_deref(), text);
        }
    }
}
