//! The hosts of an agent: a proxy of the server, which the agent reaches at a port of its own loopback.
//!
//! The agent's network has a loopback and nothing else. The server has a listener in it, so that nothing else of the machine
//! is reached from there, and no process stands between the two. An agent that does not use the proxy has no network.

use std::collections::BTreeSet;
use std::sync::Arc;

use bobbin_children::{Children, ProcessSpec};
use bobbin_supervise::causes;
use bobbin_web::{AllowedHost, Refusal, serve_proxy};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::settings::EngineConfig;

/// Most hosts of one process whose refusal the Thread and the log show.
const MAX_SHOWN: usize = 16;

/// The variables that name the proxy. Programs read either case.
const PROXY: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];
/// The variables that name what is reached without it: the agent's own loopback.
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Has Node.js read the other variables.
const NODE: &str = "NODE_USE_ENV_PROXY";

/// A proxy that serves an agent. It ends with the value.
pub(crate) struct Proxy {
    /// Each refusal that was not sent before.
    refusals: mpsc::Receiver<Refusal>,
    _serving: AbortOnDropHandle<()>,
}

/// Gives a confined process its hosts. Returns no proxy for an engine without hosts, and for a process that the
/// configuration leaves unconfined.
///
/// # Errors
/// The network of the process cannot be bounded, as half a sentence with the next step.
pub(crate) async fn give(
    children: &Children,
    config: &EngineConfig,
    process: ProcessSpec,
) -> Result<(ProcessSpec, Option<Proxy>), String> {
    if config.hosts().is_empty() {
        return Ok((process, None));
    }
    let Some(confinement) = &process.confinement else {
        tracing::warn!(
            engine = config.name,
            "without a sandbox, an agent reaches all hosts"
        );
        return Ok((process, None));
    };
    if !confinement.plan.is_apart() {
        return Err(format!(
            "Engines.{}.Hosts needs bubblewrap, which does not work here. Run `bobbin doctor`",
            config.name
        ));
    }
    let hosts: Result<Arc<[_]>, _> = config
        .hosts()
        .iter()
        .map(|host| AllowedHost::parse(host))
        .collect();
    let hosts = hosts?;
    let listening = async {
        let network = children.network(confinement).await?;
        let listener = children.listen(&network).await?;
        Ok((network, listener))
    };
    let (network, listener) = listening.await.map_err(|error: bobbin_children::ChildError| {
        format!("its proxy cannot be made: {}", causes(&error))
    })?;
    let address = listener.local_addr();
    let address = address.map_err(|error| format!("its proxy cannot be made: {error}"))?;
    let mut process = process.in_network(network);
    for name in PROXY {
        process.env.set(name, format!("http://{address}"));
    }
    for name in NO_PROXY {
        process.env.set(name, "localhost,127.0.0.1,::1");
    }
    process.env.set(NODE, "1");
    let (sender, refusals) = mpsc::channel(MAX_SHOWN);
    let refused = news(config.name.clone(), sender);
    let serving = tokio::spawn(serve_proxy(listener, hosts, refused));
    let proxy = Proxy {
        refusals,
        _serving: AbortOnDropHandle::new(serving),
    };
    Ok((process, Some(proxy)))
}

/// Returns the next host that an agent wanted and did not get; `None` if it has no proxy.
///
/// # Cancel safety
/// Cancel safe.
pub(crate) async fn refusal(proxy: &mut Option<Proxy>) -> Option<Refusal> {
    proxy.as_mut()?.refusals.recv().await
}

/// Returns the receiver of refusals, which logs them. An agent can ask for any number of hosts, so each is taken once, and
/// no more than [`MAX_SHOWN`] are.
fn news(engine: String, sender: mpsc::Sender<Refusal>) -> impl Fn(Refusal) + Send + Sync {
    let refused = Mutex::new(Refused::default());
    move |refusal| {
        let (Refusal::NotNamed(host) | Refusal::NotPublic(host)) = &refusal;
        let news = refused.lock().add(host);
        match news {
            News::Host => {
                tracing::warn!(engine, host, "an agent was refused a host");
                // The receiver is gone once the Turn is over.
                drop(sender.try_send(refusal));
            }
            News::More => tracing::warn!(engine, "an agent was refused more hosts, which are not logged"),
            News::None => {}
        }
    }
}

/// The hosts that an agent was refused.
#[derive(Debug, Default)]
struct Refused {
    hosts: BTreeSet<String>,
    /// Whether there were more.
    has_more: bool,
}

/// The news in a refusal.
#[derive(Debug, PartialEq, Eq)]
enum News {
    /// The host.
    Host,
    /// That more hosts are refused than are taken.
    More,
    /// None.
    None,
}

impl Refused {
    fn add(&mut self, host: &str) -> News {
        if self.hosts.contains(host) {
            News::None
        } else if self.hosts.len() < MAX_SHOWN {
            self.hosts.insert(host.to_owned());
            News::Host
        } else if std::mem::replace(&mut self.has_more, true) {
            News::None
        } else {
            News::More
        }
    }
}

/// Returns the sentence about a refusal, for the user.
pub(crate) fn sentence(config: &EngineConfig, refusal: &Refusal) -> String {
    let name = &config.name;
    match refusal {
        Refusal::NotNamed(host) => format!(
            "The agent {name} asked for the host {host} and was refused: Engines.{name}.Hosts does not name it. If the agent \
             needs it, add it there and start the server again."
        ),
        Refusal::NotPublic(host) => format!(
            "The agent {name} asked for the host {host} and was refused: the name leads into this machine or its own network, \
             where no agent gets by Engines.{name}.Hosts."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_hosts_are_logged_once_and_more_than_some_in_one_line() {
        let mut refused = Refused::default();
        for host in 0..MAX_SHOWN {
            assert_eq!(refused.add(&format!("host-{host}")), News::Host);
            assert_eq!(refused.add(&format!("host-{host}")), News::None);
        }
        assert_eq!(refused.add("one-more"), News::More);
        assert_eq!(refused.add("another"), News::None);
        assert_eq!(refused.add("host-0"), News::None);
    }

    #[test]
    fn a_refused_host_is_shown_once_and_no_more_than_some() {
        let (sender, mut refusals) = mpsc::channel(MAX_SHOWN);
        let refused = news("tea".to_owned(), sender);
        for round in 0..2 {
            for host in 0..=MAX_SHOWN {
                refused(Refusal::NotNamed(format!("host-{host}")));
            }
            let mut shown = Vec::new();
            while let Ok(refusal) = refusals.try_recv() {
                shown.push(refusal);
            }
            assert_eq!(shown.len(), if round == 0 { MAX_SHOWN } else { 0 });
        }
    }
}
