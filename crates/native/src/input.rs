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
            wire::InputPart::Text(part) => {
                let text = attached(&part.text, &mut usable);
                if !text.trim().is_empty() {
                    usable.push(InputPart::Text {
                        text: text.to_owned(),
                    });
                }
            }
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
            wire::InputPart::Image(part) if is_remote(&part.url) => {
                usable.push(InputPart::Image { url: part.url });
            }
            wire::InputPart::Image(_) => {
                let detail = "An image's 'url' must begin with http:// or https://.";
                return Err(RpcError::invalid_params(detail));
            }
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

/// Takes the markers of attached files off the front of a text; returns the rest.
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
                "http:// or https://",
            ),
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
