//! Clients of a workspace that another machine serves: this node passes them on to that machine's node, which believes it
//! whom it has authenticated.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use bobbin_framing::{CloseReason, Transport, WebSocketOptions, websocket_config};
use bobbin_local::Dialect;
use bobbin_model::Actor;
use bobbin_store_postgres::LeaseRow;
use bobbin_transport::{Caller, Connections, MAX_BODY_BYTES};
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rustls_platform_verifier::ConfigVerifierExt as _;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;

use crate::node::Shared;
use crate::relay::{self, Wanted};

/// The beginning of the paths at which nodes connect.
pub(crate) const RELAY: &str = "/relay/";
/// How long another node may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The first message of a connection between nodes: whose client it is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Introduction {
    actor: Actor,
    /// Whether no other machine can read or change the client's bytes on their way.
    is_private: bool,
}

/// Returns the word for a dialect in paths; `None` for one that only this machine's programs speak.
fn word(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Native => Some("native"),
        Dialect::Eca => Some("eca"),
        Dialect::Acp | Dialect::Codex | Dialect::Control => None,
    }
}

/// Returns the dialect of a word.
pub(crate) fn dialect(named: &str) -> Option<Dialect> {
    let all = [Dialect::Native, Dialect::Eca];
    all.into_iter().find(|dialect| word(*dialect) == Some(named))
}

/// Connects a client to the node that serves its workspace.
///
/// # Errors
/// That node cannot be reached, or does not believe this one.
pub(crate) async fn connect(
    shared: &Shared,
    lease: &LeaseRow,
    (dialect, caller): (Dialect, &Caller),
) -> anyhow::Result<Transport> {
    let dialect = word(dialect).ok_or_else(|| anyhow!("other machines do not speak this dialect"))?;
    let key = shared
        .key
        .get()
        .ok_or_else(|| anyhow!("the database of the nodes is away"))?;
    let address = lease
        .address
        .as_deref()
        .ok_or_else(|| anyhow!("it does not run, or has no Database.NodeAddress"))?;
    let path = format!("{RELAY}{}/{dialect}", lease.workspace);
    let opened = timeout(PATIENCE, open(address, &path, key)).await;
    let mut transport = opened
        .map_err(|_| anyhow!("it does not answer"))
        .flatten()
        .with_context(|| format!("the node at {address}"))?;
    // The way between nodes counts as private only where it is encrypted.
    let introduction = Introduction {
        actor: caller.actor.clone(),
        is_private: caller.is_private && address.starts_with("wss://"),
    };
    transport
        .send(Bytes::from(serde_json::to_vec(&introduction)?))
        .await?;
    Ok(transport)
}

/// Opens a WebSocket to another node.
async fn open(address: &str, path: &str, key: &str) -> anyhow::Result<Transport> {
    let mut request = format!("{address}{path}").into_client_request()?;
    let bearer = HeaderValue::from_str(&format!("Bearer {key}"))?;
    request.headers_mut().insert(AUTHORIZATION, bearer);
    let (is_encrypted, host) = (request.uri().scheme_str() == Some("wss"), request.uri().host());
    let host = host.unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = request
        .uri()
        .port_u16()
        .unwrap_or(if is_encrypted { 443 } else { 80 });
    let stream = TcpStream::connect((host.as_str(), port)).await?;
    stream.set_nodelay(true)?;
    let (config, options) = (
        Some(websocket_config(MAX_BODY_BYTES)),
        WebSocketOptions::default(),
    );
    if is_encrypted {
        let connector = TlsConnector::from(Arc::new(ClientConfig::with_platform_verifier()?));
        let stream = connector.connect(ServerName::try_from(host)?, stream).await?;
        let (stream, _) = client_async_with_config(request, stream, config).await?;
        Ok(Transport::websocket(stream, options))
    } else {
        let (stream, _) = client_async_with_config(request, stream, config).await?;
        Ok(Transport::websocket(stream, options))
    }
}

/// A client that another node has authenticated.
pub(crate) struct FromOther {
    pub(crate) shared: Arc<Shared>,
    /// The id of the workspace.
    pub(crate) id: String,
    pub(crate) dialect: Dialect,
}

impl Connections for FromOther {
    fn serve(&self, mut client: Transport, caller: Caller) -> BoxFuture<'static, ()> {
        let (shared, id, dialect) = (self.shared.clone(), self.id.clone(), self.dialect);
        async move {
            let introduced = timeout(PATIENCE, client.next()).await;
            let introduction: Option<Introduction> = match introduced {
                Ok(Some(Ok(first))) => serde_json::from_slice(&first).ok(),
                Ok(Some(Err(_)) | None) | Err(_) => None,
            };
            let Some(Introduction { actor, is_private }) = introduction else {
                let reason = CloseReason::new(
                    CloseReason::INTERNAL,
                    "the node did not say whose client it is".to_owned(),
                );
                return relay::close(client, &reason).await;
            };
            let caller = Caller {
                actor,
                is_private,
                ..caller
            };
            relay::serve(shared, Wanted::Id(id), dialect, client, caller).await;
        }
        .boxed()
    }
}
