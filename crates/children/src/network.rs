//! Makes networks that several children share.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use bobbin_sandbox::{Files, Outer, Plan, Profile};

use crate::children::Streams;
use crate::spec::NetworkUse;
use crate::{ChildError, Children, Confinement, Environment, Network, ProcessSpec};

impl Children {
    /// Makes a network with a loopback and nothing else, as a child with this confinement gets one.
    ///
    /// A harmless child is started for it and ends at once; the network stays with the value.
    ///
    /// # Errors
    /// The child cannot be started, or its network cannot be joined by others.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn network(&self, confinement: &Confinement) -> Result<Network, ChildError> {
        let (ours, theirs) = UnixStream::pair().map_err(ChildError::Parent)?;
        let plan = Plan {
            profile: Profile {
                files: Files::ReadOnly,
                ..confinement.plan.profile
            },
            landlock: confinement.plan.landlock,
            outer: Outer::Bubblewrap,
            ..Plan::default()
        };
        let bubblewrap = confinement.bubblewrap.clone();
        let mut spec = ProcessSpec::new("/bin/sh", "/", Environment::empty())
            .args(["-c", ":"])
            .confined(Confinement { plan, bubblewrap });
        spec.network = NetworkUse::Shown(Arc::new(theirs.into()));
        let (mut running, _output) = self.start(spec, Streams::Together).await?;
        let shown = received(&ours);
        running.end().await?;
        shown
    }
}

#[cfg(target_os = "linux")]
fn received(from: &UnixStream) -> Result<Network, ChildError> {
    let network = bobbin_sandbox::shown(from).map_err(ChildError::Parent)?;
    Ok(Network(Arc::new(network)))
}

#[cfg(not(target_os = "linux"))]
fn received(_: &UnixStream) -> Result<Network, ChildError> {
    Err(ChildError::Parent(std::io::ErrorKind::Unsupported.into()))
}
