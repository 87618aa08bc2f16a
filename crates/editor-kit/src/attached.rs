//! All that a prompt brings along, and of it what is not on this machine: pages, and resources and prompts of MCP
//! servers.
//!
//! All of a prompt are asked for at once, and whoever reads them bounds time and size. What cannot be read, or is not handed
//! over in time, is named to the model and to the user with the reason.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::picture::PictureFiles;
use bobbin_agent_api::tool_server::{ToolServers, TypedPrompt};
use bobbin_model::{InputPart, ThreadId};
use bobbin_prompts::COMPACT;
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::EditorServices;
use crate::commands::Named;
use crate::context::{self, Context, Labelled, Loaded, TOO_LONG};

/// How long a prompt waits for the disk (a guess: a dead network mount is not waited for, a slow one is).
const PATIENCE: Duration = Duration::from_secs(10);
/// Prompts of one connection whose files are being read. One on a dead mount keeps its place until the system gives up.
pub const MAX_READERS: usize = 4;

/// What a prompt brings along.
#[derive(Debug, Default)]
pub struct Attached {
    /// In the order of the prompt.
    pub contexts: Vec<Context>,
    /// A prompt of a server that is to be filled in.
    pub filling: Option<TypedPrompt>,
    /// The message may name a command or a skill.
    pub named: Option<Named>,
}

/// All of it, read.
#[derive(Debug, Default)]
pub struct Brought {
    /// The message, if a command or a skill is in its place.
    pub message: Option<InputPart>,
    /// What is behind the message.
    pub parts: Vec<InputPart>,
    /// What could not be read, each with the reason, for the user. The model reads the same in `parts`.
    pub unread: Vec<String>,
}

impl Attached {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.filling.is_none() && self.named.is_none() && self.contexts.is_empty()
    }

    /// Whether somebody else has to be asked.
    pub fn is_far(&self) -> bool {
        self.filling.is_some() || self.contexts.iter().any(context::is_far)
    }

    /// Reads all of it, in its order, for a Thread: its pictures become files of that Thread.
    ///
    /// # Errors
    /// Why a prompt of a server cannot be filled in: a sentence for the user. The input says nothing without it.
    pub async fn read(
        self,
        offer: &EditorServices,
        thread: &ThreadId,
        readers: Arc<Semaphore>,
    ) -> Result<Brought, String> {
        let Self {
            contexts,
            filling,
            named,
        } = self;
        let message = match named {
            Some(named) => Some(message(named, offer, thread).await?),
            None => None,
        };
        if is_compaction(message.as_ref()) {
            // No model reads it.
            return Ok(Brought {
                message,
                ..Brought::default()
            });
        }
        let contexts = Arc::new(contexts);
        let servers = offer.services.tool_servers.as_deref();
        let far = join_all(contexts.iter().map(|context| read(context, offer, servers)));
        let filled = async {
            match filling {
                Some(filling) => fill(filling, servers).await.map(Some),
                None => Ok(None),
            }
        };
        let root = offer.threads.settings().workspace.clone();
        let (near, far, filled) = tokio::join!(near(contexts.clone(), root, readers), far, filled);
        let filled = filled?;
        let read = near.into_iter().zip(far).zip(contexts.iter());
        let in_order =
            read.map(|((near, far), context)| near.or(far).unwrap_or_else(|| context.unread(TOO_LONG)));
        let mut brought = Brought {
            message,
            ..Brought::default()
        };
        for (label, content) in context::fitting(filled.into_iter().chain(in_order)) {
            let read = match content {
                Loaded::Text(text) => Ok(InputPart::Context {
                    label: label.clone(),
                    text,
                }),
                Loaded::Picture(bytes) => {
                    picture(&label, bytes, thread, offer.services.pictures.as_deref()).await
                }
                Loaded::Unread(why) => Err(why),
            };
            brought.parts.push(read.unwrap_or_else(|why| {
                brought.unread.push(format!("{label}: {why}"));
                let text = format!("The user attached this, but it was not read: {why}.");
                InputPart::Context { label, text }
            }));
        }
        Ok(brought)
    }
}

fn is_compaction(message: Option<&InputPart>) -> bool {
    matches!(message, Some(InputPart::CommandRef { name, .. }) if name == COMPACT)
}

async fn message(named: Named, offer: &EditorServices, thread: &ThreadId) -> Result<InputPart, String> {
    let agents = offer.threads.engine_commands(&offer.services, thread).await;
    let files = offer.services.prompts.clone();
    let read = tokio::task::spawn_blocking(move || named.read(&agents, files.as_deref()));
    read.await
        .unwrap_or_else(|error| Err(format!("the commands cannot be read: {error}")))
}

/// Stores a picture. The error is why it is not stored.
async fn picture(
    label: &str,
    bytes: Vec<u8>,
    thread: &ThreadId,
    files: Option<&dyn PictureFiles>,
) -> Result<InputPart, String> {
    let files = files.ok_or_else(|| "pictures are not taken here".to_owned())?;
    let stored = files.put(thread, bytes).await;
    let stored = stored.map_err(|error| error.to_string())?;
    Ok(InputPart::LocalImage {
        path: stored.path,
        mime_type: Some(stored.media_type.to_owned()),
        file_name: label.rsplit('/').next().map(str::to_owned),
    })
}

/// Reads what is on this machine, as far as the disk hands it over in time.
async fn near(contexts: Arc<Vec<Context>>, root: PathBuf, readers: Arc<Semaphore>) -> Vec<Option<Labelled>> {
    let count = contexts.len();
    let so_far = Arc::new(Mutex::new(Vec::new()));
    let read = so_far.clone();
    let reading = async move {
        let Ok(place) = readers.acquire_owned().await else {
            return;
        };
        let until = std::time::Instant::now() + PATIENCE;
        let reading = tokio::task::spawn_blocking(move || {
            context::read(&contexts, &root, until, |one| read.lock().push(one));
            drop(place);
        });
        if let Err(error) = reading.await {
            tracing::error!(%error, "reading contexts ended badly");
        }
    };
    // What is missing then was not handed over in time.
    drop(tokio::time::timeout(PATIENCE, reading).await);
    let mut near = std::mem::take(&mut *so_far.lock());
    near.resize(count, None);
    near
}

/// Reads what others have; `None` for what is on this machine.
async fn read(
    context: &Context,
    offer: &EditorServices,
    servers: Option<&dyn ToolServers>,
) -> Option<Labelled> {
    let read = match context {
        Context::Web { url } => match &offer.pages {
            Some(pages) => pages.read(url.trim()).await,
            None => Err("pages are not read here".to_owned()),
        },
        Context::McpResource { uri, server } => match servers {
            Some(servers) => {
                let read = servers.read_resource(server, uri).await;
                read.map_err(|error| error.to_string())
            }
            None => Err(format!("there is no MCP server {server}")),
        },
        _ => return None,
    };
    Some(match read {
        Ok(text) => (context.name(), Loaded::Text(text)),
        Err(why) => context.unread(why),
    })
}

async fn fill(filling: TypedPrompt, servers: Option<&dyn ToolServers>) -> Result<Labelled, String> {
    let TypedPrompt {
        server,
        name,
        arguments,
    } = filling;
    let label = format!("{server}:{name}");
    let servers = servers.ok_or_else(|| format!("there is no MCP server {server}"))?;
    match servers.fill_prompt(&server, &name, arguments).await {
        Ok(text) => Ok((label, Loaded::Text(text))),
        Err(error) => Err(format!("{label} cannot be used: {error}")),
    }
}
