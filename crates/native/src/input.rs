//! What a client hands in, checked and normalised (AppServer protocol 03 §3).

use bobbin_model::{InputPart, Sender};
use bobbin_wire as wire;
use bobbin_wire::RpcError;

/// Commands that are no input: they are run with `command/execute`.
const BUILT_IN: [&str; 6] = ["new", "stop", "help", "debug", "heartbeat", "cron"];

/// Normalises an input: unknown and blank parts are dropped, markers stripped.
///
/// # Errors
/// `-32602` for a built-in command, for a command or skill that does not exist, and when nothing is left.
pub(crate) fn normalise(parts: Vec<wire::InputPart>) -> Result<Vec<InputPart>, RpcError> {
    let mut usable = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            wire::InputPart::Text(part) if part.text.trim().is_empty() => {}
            wire::InputPart::Text(part) => usable.push(InputPart::Text { text: part.text }),
            wire::InputPart::CommandRef(part) => {
                let name = part.name.trim_start_matches('/');
                return Err(RpcError::invalid_params(if BUILT_IN.contains(&name) {
                    format!("'/{name}' is a built-in command; use 'command/execute'.")
                } else {
                    format!("There is no command '/{name}'.")
                }));
            }
            wire::InputPart::SkillRef(part) => {
                let name = part.name.trim_start_matches('$');
                return Err(RpcError::invalid_params(format!("There is no skill '${name}'.")));
            }
            wire::InputPart::FileRef(part) => {
                usable.push(InputPart::FileRef {
                    path: part.path,
                    display_path: part.display_path,
                });
            }
            wire::InputPart::Image(part) => usable.push(InputPart::Image { url: part.url }),
            wire::InputPart::LocalImage(part) => usable.push(InputPart::LocalImage {
                path: part.path,
                mime_type: part.mime_type,
                file_name: part.file_name,
            }),
            wire::InputPart::Unknown(_) => {}
        }
    }
    if usable.is_empty() {
        return Err(RpcError::invalid_params("'input' has no usable part."));
    }
    Ok(usable)
}

pub(crate) fn sender(sender: wire::SenderContext) -> Sender {
    Sender {
        sender_id: sender.sender_id,
        sender_name: sender.sender_name,
        sender_role: sender.sender_role,
        group_id: sender.group_id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Vec<InputPart>, RpcError> {
        normalise(serde_json::from_str(json).unwrap())
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
        for (json, detail) in [
            ("[]", "no usable part"),
            (
                r#"[{"type":"text","text":"  "},{"type":"hologram"}]"#,
                "no usable part",
            ),
            (r#"[{"type":"commandRef","name":"/new"}]"#, "'/new' is a built-in"),
            (r#"[{"type":"commandRef","name":"tea"}]"#, "no command '/tea'"),
            (r#"[{"type":"skillRef","name":"$brew"}]"#, "no skill '$brew'"),
        ] {
            let error = parse(json).unwrap_err();
            assert!(
                error.code == -32602 && error.detail().contains(detail),
                "{json}: {error:?}"
            );
        }
    }
}
