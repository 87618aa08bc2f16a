//! What a prompt brings along that is not on this machine: pages, and resources and prompts of MCP servers.
//!
//! All of a prompt are asked for at once, and whoever reads them bounds time and size. A page that cannot be read is
//! named to the model with the reason; a resource that cannot be read is skipped with a log line (section 5).

use std::collections::BTreeMap;

use bobbin_core::tool_server::{ServerPrompt, ToolServers};
use bobbin_model::InputPart;
use futures_util::future::join_all;

use crate::Offer;
use crate::context::{self, Labelled};
use crate::wire::chat::Context;

/// What a prompt brings along.
#[derive(Debug, Default)]
pub(crate) struct Attached {
    pub(crate) contexts: Vec<Context>,
    /// A prompt of a server that is to be filled in.
    pub(crate) filling: Option<Filling>,
}

/// A prompt of a server with what the user gave for it.
#[derive(Debug)]
pub(crate) struct Filling {
    server: String,
    name: String,
    arguments: BTreeMap<String, String>,
}

impl Attached {
    /// Whether somebody else has to be asked.
    pub(crate) fn is_far(&self) -> bool {
        self.filling.is_some() || self.contexts.iter().any(context::is_far)
    }

    /// Reads all of it, in its order. An error is a sentence for the user: the prompt says nothing without it.
    pub(crate) async fn read(self, offer: &Offer) -> Result<Vec<InputPart>, String> {
        let Self { contexts, filling } = self;
        let servers = offer.tool_servers.as_deref();
        let far = join_all(contexts.iter().map(|context| read(context, offer)));
        let filled = async {
            match filling {
                Some(filling) => fill(filling, servers).await.map(Some),
                None => Ok(None),
            }
        };
        let (far, filled) = tokio::join!(far, filled);
        let filled = filled?;
        let root = offer.hub.settings().workspace.clone();
        let near = tokio::task::spawn_blocking(move || context::read(&contexts, &root));
        let near = near.await.unwrap_or_default();
        let in_order = near.into_iter().zip(far).filter_map(|(near, far)| near.or(far));
        Ok(context::parts(filled.into_iter().chain(in_order)))
    }
}

async fn read(context: &Context, offer: &Offer) -> Option<Labelled> {
    match context {
        Context::Web { url } if !url.trim().is_empty() => {
            let read = match &offer.pages {
                Some(pages) => pages.read(url.trim()).await,
                None => Err("pages are not read here".to_owned()),
            };
            let text = read.unwrap_or_else(|why| {
                tracing::info!(url, why, "a page was not read");
                format!("The user refers to the page {url}; it has not been read: {why}.")
            });
            Some((url.clone(), text))
        }
        Context::McpResource { uri, server } => {
            let servers = offer.tool_servers.as_deref()?;
            match servers.read_resource(server, uri).await {
                Ok(text) => Some((uri.clone(), text)),
                Err(error) => {
                    tracing::info!(server, uri, %error, "a context was skipped");
                    None
                }
            }
        }
        _ => None,
    }
}

async fn fill(filling: Filling, servers: Option<&dyn ToolServers>) -> Result<Labelled, String> {
    let Filling {
        server,
        name,
        arguments,
    } = filling;
    let label = format!("{server}:{name}");
    let servers = servers.ok_or_else(|| format!("there is no MCP server {server}"))?;
    match servers.fill_prompt(&server, &name, arguments).await {
        Ok(text) => Ok((label, text)),
        Err(error) => Err(format!("{label} cannot be used: {error}")),
    }
}

/// Returns the prompt of a server that a message asks for: `/server:prompt first second …`, the last argument taking
/// what is left. The error says which argument is missing.
pub(crate) fn filling(message: &str, prompts: &[ServerPrompt]) -> Option<Result<Filling, String>> {
    let mut words = message.strip_prefix('/')?.splitn(2, char::is_whitespace);
    let (server, name) = words.next()?.split_once(':')?;
    let prompt = prompts
        .iter()
        .find(|prompt| prompt.server == server && prompt.name == name)?;
    let mut rest = words.next().unwrap_or_default().trim();
    let mut arguments = BTreeMap::new();
    for (index, argument) in prompt.arguments.iter().enumerate() {
        let is_last = index + 1 == prompt.arguments.len();
        let (value, left) = match rest.split_once(char::is_whitespace) {
            Some((value, left)) if !is_last => (value, left.trim_start()),
            _ => (rest, ""),
        };
        rest = left;
        if !value.is_empty() {
            arguments.insert(argument.name.clone(), value.to_owned());
        } else if argument.required {
            return Some(Err(format!("/{server}:{name} needs {}", argument.name)));
        }
    }
    Some(Ok(Filling {
        server: server.to_owned(),
        name: name.to_owned(),
        arguments,
    }))
}

#[cfg(test)]
mod tests {
    use bobbin_core::tool_server::PromptArgument;

    use super::*;

    fn brew() -> Vec<ServerPrompt> {
        let argument = |name: &str, required| PromptArgument {
            name: name.to_owned(),
            description: None,
            required,
        };
        vec![ServerPrompt {
            server: "pantry".to_owned(),
            name: "brew".to_owned(),
            description: String::new(),
            arguments: vec![argument("leaf", true), argument("milk", false)],
        }]
    }

    #[test]
    fn arguments_are_taken_in_their_order_and_the_last_takes_the_rest() {
        for (message, expected) in [
            ("/pantry:brew assam", vec![("leaf", "assam")]),
            (
                "/pantry:brew assam  a little, cold",
                vec![("leaf", "assam"), ("milk", "a little, cold")],
            ),
        ] {
            let filling = filling(message, &brew()).unwrap().unwrap();
            let expected = expected
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(
                filling.arguments,
                expected.collect::<BTreeMap<_, _>>(),
                "{message}"
            );
        }
        assert_eq!(
            filling("/pantry:brew", &brew()).unwrap().unwrap_err(),
            "/pantry:brew needs leaf"
        );
        for other in ["/pantry:boil", "/brew", "pantry:brew x", "/", ""] {
            assert!(filling(other, &brew()).is_none(), "{other}");
        }
    }
}
