//! The MCP servers that clients bring along with their sessions: a host for each Thread that has some.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;

use bobbin_agent_api::picture::PictureFiles;
use bobbin_agent_api::session_servers::{SessionServerNews, SessionToolServers, StartedServers};
use bobbin_agent_api::tool::{Tool, ToolSource};
use bobbin_agent_api::tool_server::ToolServerConfig;
use bobbin_children::Children;
use bobbin_model::{ServerOrigin, ThreadId, ToolServer};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;

use crate::Host;
use crate::resolve::{ServerPlaces, resolve};
use crate::settings::DeclaredServer;

/// The servers of all sessions. Cheap to clone.
#[derive(Clone)]
pub struct SessionServers(Arc<Shared>);

struct Shared {
    places: ServerPlaces,
    variables: Vec<(OsString, OsString)>,
    children: Children,
    pictures: Arc<dyn PictureFiles>,
    /// Bounded by the sessions that clients have open.
    hosts: Mutex<HashMap<ThreadId, Arc<Host>>>,
}

impl SessionServers {
    /// Returns an empty list. Servers find programs and values in `variables`.
    pub(crate) fn new(
        places: ServerPlaces,
        variables: Vec<(OsString, OsString)>,
        children: Children,
        pictures: Arc<dyn PictureFiles>,
    ) -> Self {
        Self(Arc::new(Shared {
            places,
            variables,
            children,
            pictures,
            hosts: Mutex::default(),
        }))
    }

    /// Ends all servers for good.
    pub(crate) async fn end(&self) {
        let hosts: Vec<_> = self.0.hosts.lock().drain().map(|(_, host)| host).collect();
        join_all(hosts.iter().map(|host| host.end())).await;
    }

    fn hosts(&self) -> Vec<Arc<Host>> {
        self.0.hosts.lock().values().cloned().collect()
    }
}

impl SessionToolServers for SessionServers {
    fn start(
        &self,
        thread: &ThreadId,
        servers: Vec<ToolServerConfig>,
        news: SessionServerNews,
    ) -> Arc<dyn StartedServers> {
        let shared = &self.0;
        let announce = move |server: Arc<ToolServer>| news(&server);
        let host = Host::new(shared.children.clone(), Arc::new(announce))
            .with_pictures(shared.pictures.clone())
            .with_root(&shared.places.root);
        for config in servers {
            let declared = DeclaredServer::own(config, ServerOrigin::User);
            let spec = resolve(&declared, &shared.places, &shared.variables);
            let name = spec.name.clone();
            if host.set(spec).is_err() {
                tracing::warn!(server = name, "a session brings too many MCP servers along");
            }
        }
        let host = Arc::new(host);
        shared.hosts.lock().insert(thread.clone(), host.clone());
        Arc::new(Started {
            shared: shared.clone(),
            thread: thread.clone(),
            host,
        })
    }
}

/// The servers of one session.
struct Started {
    shared: Arc<Shared>,
    thread: ThreadId,
    host: Arc<Host>,
}

impl StartedServers for Started {
    fn settled(&self) -> BoxFuture<'_, ()> {
        self.host.settled(None)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let mut hosts = self.shared.hosts.lock();
        // Another client may have brought other servers along meanwhile.
        let is_ours = hosts
            .get(&self.thread)
            .is_some_and(|host| Arc::ptr_eq(host, &self.host));
        if is_ours {
            hosts.remove(&self.thread);
        }
        drop(hosts);
        // They end in the background.
        for server in self.host.servers() {
            self.host.remove(&server.name);
        }
    }
}

impl ToolSource for SessionServers {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    fn tools_of(&self, thread: &ThreadId) -> Vec<Arc<dyn Tool>> {
        let host = self.0.hosts.lock().get(thread).cloned();
        host.map_or_else(Vec::new, |host| host.tools())
    }

    fn settled<'a>(&'a self, tool: Option<&'a str>) -> BoxFuture<'a, ()> {
        async move {
            let hosts = self.hosts();
            join_all(hosts.iter().map(|host| host.settled(tool))).await;
        }
        .boxed()
    }
}
