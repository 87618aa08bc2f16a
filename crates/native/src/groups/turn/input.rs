//! Checks and normalises the input of a client (AppServer protocol 03 §3).

use bobbin_agent_api::Services;
use bobbin_agent_api::engines::EngineCommand;
use bobbin_agent_api::tool_server::{ToolServers, typed_prompt};
use bobbin_model::{InputPart, ThreadId};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::turn::input_types;
use bobbin_prompts::{PromptError, Prompts};

use super::picture;
use crate::client::Client;
use crate::errors;
use crate::groups::command::handlers::of_agent;

/// Commands that are no input: `command/execute` runs them.
pub const BUILT_IN: [&str; 6] = ["new", "stop", "help", "debug", "heartbeat", "cron"];

/// Limit of bytes of the commands and skills of one input.
const MAX_NAMED_BYTES: usize = 1 << 20;

/// Normalises an input, and adds the current texts of the commands and skills that it names.
///
/// # Errors
/// `-32602` for a built-in command, for an unknown command or skill, for bytes that are no picture, and for an empty
/// result.
pub(crate) async fn read(
    parts: Vec<input_types::InputPart>,
    thread: &ThreadId,
    client: &Client,
) -> Result<Vec<InputPart>, RpcError> {
    let services = client.services();
    let parts = picture::stored(parts, thread, services.pictures.as_deref()).await?;
    let mut parts = normalise(parts)?;
    if parts
        .iter()
        .any(|part| matches!(part, InputPart::CommandRef { .. }))
    {
        as_typed(&mut parts, &of_agent(client, thread).await);
    }
    fill(parts, services).await
}

/// Makes a text of each part that names a command of another agent: the agent reads it as it was typed.
fn as_typed(parts: &mut [InputPart], agents: &[EngineCommand]) {
    for part in parts {
        if let InputPart::CommandRef {
            name,
            args_text,
            raw_text,
            ..
        } = part
            && agents.iter().any(|command| command.name == *name)
        {
            let typed = || format!("/{name} {}", args_text.as_deref().unwrap_or_default());
            let text = raw_text.take().unwrap_or_else(typed).trim().to_owned();
            *part = InputPart::Text { text };
        }
    }
}

/// Adds the current texts of the commands and skills that an input names.
async fn fill(mut parts: Vec<InputPart>, services: &Services) -> Result<Vec<InputPart>, RpcError> {
    for part in &mut parts {
        fill_of_server(part, services.tool_servers.as_deref()).await?;
    }
    let prompts = services.prompts.clone();
    let names_any =
        |part: &InputPart| matches!(part, InputPart::CommandRef { .. } | InputPart::SkillRef { .. });
    if !parts.iter().any(names_any) {
        return Ok(parts);
    }
    let filling = tokio::task::spawn_blocking(move || {
        // A few bytes can name many long texts, so their sum is bounded while they are read.
        let mut room = MAX_NAMED_BYTES;
        let filled = parts.into_iter().map(|part| {
            let part = filled(part, prompts.as_deref())?;
            if names_any(&part) {
                room = room
                    .checked_sub(part.bytes())
                    .ok_or_else(|| PromptError::TooLarge {
                        what: "all that the input names".to_owned(),
                        limit: MAX_NAMED_BYTES,
                    })?;
            }
            Ok(part)
        });
        filled.collect::<Result<Vec<_>, PromptError>>()
    });
    match filling.await {
        Ok(filled) => filled.map_err(|error| errors::of_prompt_in_input(&error)),
        Err(error) => {
            tracing::error!(%error, "reading commands and skills ended badly");
            Err(RpcError::internal_error("The commands could not be read."))
        }
    }
}

/// Returns the filled-in prompt of an MCP server that a command names; `None` if it names none.
pub async fn filled_prompt(
    servers: Option<&dyn ToolServers>,
    name: &str,
    arguments: &str,
) -> Option<Result<String, RpcError>> {
    let servers = servers.filter(|_| name.contains(':'))?;
    let typed = format!("/{} {arguments}", name.trim_start_matches('/'));
    let typed = match typed_prompt(&typed, &servers.prompts())? {
        Ok(typed) => typed,
        Err(why) => return Some(Err(RpcError::invalid_params(format!("{why}.")))),
    };
    let filled = servers.fill_prompt(&typed.server, &typed.name, typed.arguments);
    Some(
        filled
            .await
            .map_err(|error| RpcError::invalid_params(format!("{error}."))),
    )
}

/// Fills in a command that names a prompt of an MCP server.
async fn fill_of_server(part: &mut InputPart, servers: Option<&dyn ToolServers>) -> Result<(), RpcError> {
    if let InputPart::CommandRef {
        name,
        args_text,
        expanded,
        ..
    } = part
        && let Some(filled) = filled_prompt(servers, name, args_text.as_deref().unwrap_or_default()).await
    {
        *expanded = Some(filled?);
    }
    Ok(())
}

/// Puts the text of a command or skill into the part that names it. Blocking.
fn filled(part: InputPart, prompts: Option<&Prompts>) -> Result<InputPart, PromptError> {
    let missing = |what, name: &str| PromptError::NotFound {
        what,
        name: name.to_owned(),
    };
    Ok(match part {
        InputPart::CommandRef {
            name,
            args_text,
            raw_text,
            expanded: None,
        } => {
            let prompts = prompts.ok_or_else(|| missing("command", &format!("/{name}")))?;
            let expanded = prompts.expand(&name, args_text.as_deref().unwrap_or_default())?;
            InputPart::CommandRef {
                name,
                args_text,
                raw_text,
                expanded: Some(expanded),
            }
        }
        InputPart::SkillRef { name, .. } => {
            let prompts = prompts.ok_or_else(|| missing("skill", &name))?;
            let content = prompts.skill_text(&name)?.body;
            InputPart::SkillRef {
                name,
                content: Some(content),
            }
        }
        other => other,
    })
}

/// Normalises an input: drops unknown and blank parts, and strips markers.
fn normalise(parts: Vec<input_types::InputPart>) -> Result<Vec<InputPart>, RpcError> {
    let mut usable = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            input_types::InputPart::Text(part) => {
                let text = attached(&part.text, &mut usable);
                if !text.trim().is_empty() {
                    usable.push(InputPart::Text {
                        text: text.to_owned(),
                    });
                }
            }
            input_types::InputPart::CommandRef(part) => {
                let name = part.name.trim_start_matches('/');
                if BUILT_IN.contains(&name) {
                    let detail = format!("'/{name}' is a built-in command; use 'command/execute'.");
                    return Err(RpcError::invalid_params(detail));
                }
                usable.push(InputPart::CommandRef {
                    name: name.to_owned(),
                    args_text: part.args_text,
                    raw_text: part.raw_text,
                    expanded: None,
                });
            }
            input_types::InputPart::SkillRef(part) => {
                usable.push(InputPart::SkillRef {
                    name: part.name.trim_start_matches('$').to_owned(),
                    content: None,
                });
            }
            input_types::InputPart::FileRef(part) => {
                usable.push(InputPart::FileRef {
                    path: part.path,
                    display_path: part.display_path,
                });
            }
            input_types::InputPart::Image(part) if is_remote(&part.url) => {
                usable.push(InputPart::Image { url: part.url });
            }
            input_types::InputPart::Image(_) => {
                let detail = "An image's 'url' must begin with http://, https:// or data:.";
                return Err(RpcError::invalid_params(detail));
            }
            input_types::InputPart::LocalImage(part) => usable.push(InputPart::LocalImage {
                path: part.path,
                mime_type: part.mime_type,
                file_name: part.file_name,
            }),
            input_types::InputPart::Unknown(_) => {}
        }
    }
    if usable.is_empty() {
        return Err(RpcError::invalid_params("'input' has no usable part."));
    }
    Ok(usable)
}

/// Strips the markers of attached files from the start of a text; returns the rest.
fn attached<'a>(mut text: &'a str, parts: &mut Vec<InputPart>) -> &'a str {
    while let Some((path, rest)) = text
        .trim_start()
        .strip_prefix("[[Attached File: ")
        .and_then(|marker| marker.split_once("]]"))
        .filter(|(path, _)| !path.trim().is_empty() && !path.contains('\n'))
    {
        parts.push(InputPart::FileRef {
            path: path.trim().to_owned(),
            display_path: None,
        });
        text = rest.trim_start_matches(['\r', '\n']);
    }
    text
}

fn is_remote(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
}

#[cfg(test)]
mod tests {
    use bobbin_prompts::Machine;

    use std::sync::Arc;

    use super::*;

    fn parse(json: &str) -> Result<Vec<InputPart>, RpcError> {
        normalise(serde_json::from_str(json).unwrap())
    }

    #[tokio::test]
    async fn commands_and_skills_are_taken_with_their_texts() {
        let dir = tempfile::tempdir().unwrap();
        let craft = dir.path().join(".craft");
        for (file, text) in [
            ("commands/audit.md", "Audit the recipe for $1."),
            (
                "skills/descale/SKILL.md",
                "---\ndescription: How to\n---\nUse vinegar.",
            ),
        ] {
            std::fs::create_dir_all(craft.join(file).parent().unwrap()).unwrap();
            std::fs::write(craft.join(file), text).unwrap();
        }
        let prompts = Arc::new(Prompts::new(dir.path().to_owned(), None, Machine::default()));
        let read = async |json: &str, prompts| {
            let services = Services {
                prompts,
                ..Services::default()
            };
            fill(normalise(serde_json::from_str(json).unwrap())?, &services).await
        };
        let mut named = normalise(
            serde_json::from_str(
                r#"[{"type":"commandRef","name":"/tea","argsText":"hot"},{"type":"commandRef","name":"milk","rawText":"/milk cold"}]"#,
            )
            .unwrap(),
        )
        .unwrap();
        let agents = [EngineCommand {
            name: "tea".into(),
            description: String::new(),
            hint: None,
        }];
        as_typed(&mut named, &agents);
        let typed = InputPart::Text {
            text: "/tea hot".into(),
        };
        assert_eq!(named[0], typed, "the agent reads its own commands as text");
        assert!(matches!(named[1], InputPart::CommandRef { .. }));
        let both = r#"[{"type":"skillRef","name":"$descale"},{"type":"commandRef","name":"/audit","argsText":"milk"}]"#;
        let parts = read(both, Some(prompts.clone())).await.unwrap();
        let given: Vec<_> = parts.iter().map(InputPart::materialized).collect();
        let text = |text: &str| InputPart::Text { text: text.into() };
        let skill = text("Follow the skill 'descale':\n\nUse vinegar.\n\n");
        assert_eq!(given, [skill, text("Audit the recipe for milk.")]);
        assert_eq!(bobbin_model::input::display_text(&parts), "$descale/audit milk");
        std::fs::write(craft.join("commands/audit.md"), "x".repeat(60_000)).unwrap();
        let often = format!("[{}]", [r#"{"type":"commandRef","name":"audit"}"#; 20].join(","));
        for (json, detail) in [
            (&*often, "more than 1048576 bytes"),
            (r#"[{"type":"commandRef","name":"tea"}]"#, "no command '/tea'"),
            (r#"[{"type":"skillRef","name":"$brew"}]"#, "no skill 'brew'"),
            (
                r#"[{"type":"skillRef","name":"../descale"}]"#,
                "no name of a skill",
            ),
        ] {
            let error = read(json, Some(prompts.clone())).await.unwrap_err();
            assert!(
                error.code == -32602 && error.detail().contains(detail),
                "{json}: {error:?}"
            );
            assert_eq!(read(json, None).await.unwrap_err().code, -32602);
        }
    }

    #[test]
    fn inputs_follow_the_table() {
        let text = |text: &str| InputPart::Text { text: text.into() };
        assert_eq!(
            parse(r#"[{"type":"text","text":" hi "}]"#).unwrap(),
            [text(" hi ")]
        );
        assert_eq!(
            parse(r#"[{"type":"hologram"},{"type":"text","text":"x"}]"#).unwrap(),
            [text("x")]
        );
        let file = |path: &str| InputPart::FileRef {
            path: path.into(),
            display_path: None,
        };
        assert_eq!(
            parse(r#"[{"type":"text","text":"[[Attached File: a b.txt]]\n[[Attached File: /c]]\nread"}]"#)
                .unwrap(),
            [file("a b.txt"), file("/c"), text("read")]
        );
        for plain in [
            "see [[Attached File: a]]",
            "[[Attached File: ]] x",
            "[[Attached File: a",
        ] {
            let json = format!(r#"[{{"type":"text","text":"{plain}"}}]"#);
            assert_eq!(parse(&json).unwrap(), [text(plain)]);
        }
        for (json, detail) in [
            (
                r#"[{"type":"image","url":"file:///etc/passwd"}]"#,
                "http://, https:// or data:",
            ),
            ("[]", "no usable part"),
            (
                r#"[{"type":"text","text":"  "},{"type":"hologram"}]"#,
                "no usable part",
            ),
            (r#"[{"type":"commandRef","name":"/new"}]"#, "'/new' is a built-in"),
        ] {
            let error = parse(json).unwrap_err();
            assert!(
                error.code == -32602 && error.detail().contains(detail),
                "{json}: {error:?}"
            );
        }
    }
}
