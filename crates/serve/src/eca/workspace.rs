//! The workspace of an editor: who serves it, and this process's own core when nobody else does.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::trust::WorkspaceTrust;
use bobbin_editor_kit::{EditorServices, Failure, Host, NoticeKind, OpenRequest, Ownership, UserNotice};
use bobbin_framing::Transport;
use bobbin_transport::{LocalListener, connect_local};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Editors;
use super::editors;
use crate::config;
use crate::exit;
use crate::join::{self, Endpoint, JoinError};
use crate::opened::{ByClock, Opened, open};
use crate::state;
use crate::state::home;
use crate::token::TokenOptions;
use bobbin_config::Config;
use bobbin_workspace::{LockedWorkspace, SOCKET, State, Workspace};

/// How long somebody who holds the workspace may take to say where, or to go: the end of a process takes up
/// to two seconds, and editors wait ten for their first answer (section 2.4).
const PATIENCE: Duration = Duration::from_secs(3);
/// How often to look meanwhile.
const INTERVAL: Duration = Duration::from_millis(50);

/// Where the editor's workspace is opened.
pub struct EditorWorkspace {
    config_file: Option<PathBuf>,
    token: TokenOptions,
    open: Mutex<Open>,
    /// Cancelled once the database of what is served here is gone.
    pub removed: CancellationToken,
}

/// What has become of it.
pub enum Open {
    /// The editor has not opened one yet.
    Nothing,
    /// Nobody else serves it.
    Ready(Prepared),
    /// It cannot be served.
    Refused(anyhow::Error),
    /// It is served.
    Served(Box<Served>),
}

/// A workspace that is served here.
pub struct Served {
    pub held: LockedWorkspace,
    opened: Opened,
    /// Further editors, and how to stop taking them.
    editors: Option<(JoinHandle<()>, CancellationToken)>,
}

impl Served {
    /// Takes further editors from here on, if that can be done.
    fn new(held: LockedWorkspace, opened: Opened, config: &Config) -> Self {
        let workspace = held.workspace();
        let editors = match LocalListener::bind(&workspace.folder(), SOCKET) {
            Ok(listener) => {
                let stop = CancellationToken::new();
                let connections = Arc::new(Editors::new(workspace, config, &opened));
                Some((tokio::spawn(listener.run(connections, stop.clone())), stop))
            }
            Err(error) => {
                tracing::warn!(%error, "further editors cannot join this one");
                None
            }
        };
        Self {
            held,
            opened,
            editors,
        }
    }

    /// Waits until no further editor is connected.
    pub async fn until_others_have_left(&self) {
        while self.opened.process.connections() > 0 {
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Ends everything in it, further editors last: they are told how it ended.
    pub async fn end(self) -> LockedWorkspace {
        let Self {
            held,
            opened,
            editors,
        } = self;
        if let Some((_, stop)) = &editors {
            stop.cancel();
        }
        opened.end().await;
        if let Some((running, _)) = editors
            && let Err(error) = running.await
        {
            tracing::error!(%error, "the task of further editors ended badly");
        }
        held
    }
}

/// A workspace that is held, with what its configuration says.
pub struct Prepared {
    pub held: LockedWorkspace,
    config: Box<Config>,
    notices: Vec<UserNotice>,
}

enum Place {
    Ours(Prepared),
    Theirs(Transport),
}

impl EditorWorkspace {
    /// Returns one that no editor has named yet.
    pub fn new(config_file: Option<PathBuf>, token: TokenOptions) -> Self {
        Self {
            config_file,
            token,
            open: Mutex::new(Open::Nothing),
            removed: CancellationToken::new(),
        }
    }

    /// Returns what is to be ended.
    pub fn close(&self) -> Open {
        std::mem::replace(&mut *self.open.lock(), Open::Nothing)
    }

    /// Returns a connection to the server that holds the workspace. Otherwise the workspace is held from here
    /// on, or it is kept why it cannot be.
    pub async fn look(self: Arc<Self>, wanted: OpenRequest) -> Option<Transport> {
        let (open, server) = match self.place(&wanted).await {
            Ok(Place::Theirs(server)) => return Some(server),
            Ok(Place::Ours(prepared)) => (Open::Ready(prepared), None),
            Err(error) => (Open::Refused(error), None),
        };
        *self.open.lock() = open;
        server
    }

    async fn place(&self, wanted: &OpenRequest) -> anyhow::Result<Place> {
        let workspace = state::workspace(wanted.root.as_deref())?;
        let (config, notices) = self.configuration(&workspace, wanted);
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Whatever was seen may have changed a moment later: the lock decides, and who does not get it
            // looks again.
            let failed: anyhow::Error = match workspace.holder() {
                Some(State {
                    address: Some(address),
                    ..
                }) => match self.join(&address, &config).await? {
                    Ok(server) => return Ok(Place::Theirs(server)),
                    Err(error @ JoinError::Unreachable { .. }) => exit::Failure::from(error).into(),
                    Err(error) => return Err(exit::Failure::from(error).into()),
                },
                Some(State {
                    takes_editors: true, ..
                }) => match connect_local(&workspace.folder(), SOCKET).await {
                    Ok(server) => return Ok(Place::Theirs(server)),
                    // It has gone, or is going.
                    Err(_) => workspace.busy().into(),
                },
                Some(State { address: None, .. }) => workspace.busy().into(),
                None => match workspace.hold().await.map_err(anyhow::Error::from) {
                    Ok(held) => {
                        return Ok(Place::Ours(Prepared {
                            held,
                            config,
                            notices,
                        }));
                    }
                    Err(error) if !exit::is_busy(&error) => return Err(error),
                    Err(error) => error,
                },
            };
            if Instant::now() >= deadline {
                return Err(failed);
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Connects to a server. The token is read now: the first server of a user has made it before it said where it listens.
    async fn join(&self, address: &str, config: &Config) -> anyhow::Result<Result<Transport, JoinError>> {
        let token = self.token.presented(config)?;
        Ok(join::connect(address, Endpoint::Eca, token.as_deref()).await)
    }

    async fn serve(&self, wanted: &OpenRequest) -> anyhow::Result<(Served, EditorServices)> {
        let prepared = match self.close() {
            Open::Ready(prepared) => prepared,
            Open::Refused(error) => return Err(error),
            // A handshake that nobody looked at, in a batch.
            Open::Nothing | Open::Served(..) => {
                let workspace = state::workspace(wanted.root.as_deref())?;
                let (config, notices) = self.configuration(&workspace, wanted);
                Prepared {
                    held: workspace.hold().await?,
                    config,
                    notices,
                }
            }
        };
        let Prepared {
            held,
            config,
            mut notices,
        } = prepared;
        let opened = open(&held, &config, &self.removed, ByClock::Runs).await?;
        let waiting = opened.trust.notice().await;
        let complaints = opened.complaints.iter().cloned().chain(waiting);
        notices.extend(complaints.map(|message| UserNotice {
            kind: NoticeKind::Warning,
            message,
        }));
        let served = Served::new(held, opened.clone(), &config);
        if served.editors.is_some() {
            served.held.announce_to_editors()?;
        } else {
            served.held.announce(None, None)?;
        }
        let offer = editors::offer(&opened, &config, notices, Ownership::Sole);
        Ok((served, offer))
    }

    /// Reads the configuration. A broken file keeps no editor from working: its user is told.
    fn configuration(&self, workspace: &Workspace, wanted: &OpenRequest) -> (Box<Config>, Vec<UserNotice>) {
        let notice = |kind, message: &str| UserNotice {
            kind,
            message: message.to_owned(),
        };
        let mut notices = Vec::new();
        if let Some(file) = &self.config_file {
            let text = format!(
                "{} is not read; settings belong in .craft/config.json",
                file.display()
            );
            notices.push(notice(NoticeKind::Warning, &text));
        }
        let read = if wanted.pure_config {
            Ok(Config::default())
        } else {
            config::read(&workspace.root, home().as_deref())
        };
        let mut config = read.unwrap_or_else(|error| {
            let text = format!("{error:#}; the defaults are in force");
            notices.push(notice(NoticeKind::Error, &text));
            Config::default()
        });
        if let Err(error) = config.add_editors(&wanted.options.providers, &wanted.options.mcp_servers) {
            let text = format!("the editor's options are not used: {error:#}");
            notices.push(notice(NoticeKind::Error, &text));
        }
        let warnings = config.warnings.iter();
        notices.extend(warnings.map(|warning| notice(NoticeKind::Warning, warning)));
        (Box::new(config), notices)
    }
}

impl Host for EditorWorkspace {
    fn open(&self, wanted: OpenRequest) -> BoxFuture<'_, Result<EditorServices, Failure>> {
        async move {
            match self.serve(&wanted).await {
                Ok((served, offer)) => {
                    *self.open.lock() = Open::Served(Box::new(served));
                    Ok(offer)
                }
                Err(error) => {
                    let failure = Failure(format!("{error:#}"));
                    *self.open.lock() = Open::Refused(error);
                    Err(failure)
                }
            }
        }
        .boxed()
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> Arc<EditorWorkspace> {
        Arc::new(EditorWorkspace::new(None, TokenOptions::default()))
    }

    /// Returns a directory to serve; its state is not the user's.
    fn directory() -> tempfile::TempDir {
        // One for all tests of the process: the first counts.
        crate::state::choose(std::env::temp_dir().join(format!("bobbin-test-{}", std::process::id())));
        tempfile::tempdir().unwrap()
    }

    fn wanted(directory: &tempfile::TempDir) -> OpenRequest {
        OpenRequest {
            root: Some(directory.path().to_owned()),
            pure_config: true,
            ..OpenRequest::default()
        }
    }

    #[tokio::test]
    async fn a_server_that_goes_between_the_look_and_the_connection_is_replaced() {
        let directory = directory();
        let held = state::workspace(Some(directory.path()))
            .unwrap()
            .hold()
            .await
            .unwrap();
        // Nobody listens there any more, and the lock is about to be given back.
        held.announce(Some("ws://127.0.0.1:1/ws".to_owned()), None)
            .unwrap();
        let workspace = workspace();
        let looking = tokio::spawn(workspace.clone().look(wanted(&directory)));
        tokio::time::sleep(INTERVAL * 3).await;
        assert!(!looking.is_finished());
        drop(held);
        assert!(looking.await.unwrap().is_none());
        assert!(matches!(workspace.close(), Open::Ready(_)));
    }

    #[tokio::test]
    async fn a_holder_that_never_answers_is_said() {
        let directory = directory();
        let held = state::workspace(Some(directory.path()))
            .unwrap()
            .hold()
            .await
            .unwrap();
        held.announce(Some("ws://127.0.0.1:1/ws".to_owned()), None)
            .unwrap();
        let workspace = workspace();
        assert!(workspace.clone().look(wanted(&directory)).await.is_none());
        let failure = workspace.open(wanted(&directory)).await.err().unwrap();
        assert!(
            failure.0.contains("ws://127.0.0.1:1/eca cannot be joined"),
            "{failure}"
        );
    }
}
