//! Bubblewrap as the configuration requests it, and the result of a trial run at first use.
//!
//! Bubblewrap may not work: the system may forbid namespaces, or the server may run in a container. So before the server
//! relies on it, one trial runs bubblewrap around the helper with every feature of a command's view
//! ([`super::bubblewrap_try`]). A success is valid for the life of the process. A later failure causes a new trial, and only
//! trials decide: a workspace cannot affect them, while a command can make other commands fail, which then do not run.
//! Bounds: one trial at a time, of 20 s.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{Children, Environment};
use bobbin_sandbox::{PLACES, Support, find};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::bubblewrap_try::try_it;

/// Whether bubblewrap is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BubblewrapUse {
    /// It is not used.
    #[default]
    Off,
    /// It is used where it works.
    Auto,
    /// Commands are refused where it does not work.
    Require,
}

/// Bubblewrap and the result of its trial. Clones share the result.
#[derive(Debug, Clone, Default)]
pub struct Bubblewrap {
    wanted: BubblewrapUse,
    places: Vec<PathBuf>,
    children: Option<Children>,
    /// The trial's result; replaced when a later failure contradicts it.
    known: Arc<Mutex<Arc<OnceCell<Tried>>>>,
}

/// The result of a trial: the program, or why it does not work.
pub(super) type Found = Result<PathBuf, String>;
/// The time of a trial, and its result.
pub(super) type Tried = (Instant, Found);

/// How long a failure counts: its cause may be temporary.
const FAILED_FOR: Duration = Duration::from_mins(1);

impl Bubblewrap {
    /// Returns bubblewrap in its default places; `children` starts its trial.
    pub fn new(wanted: BubblewrapUse, children: Children) -> Self {
        Self {
            wanted,
            places: PLACES.map(PathBuf::from).to_vec(),
            children: Some(children),
            known: Arc::default(),
        }
    }

    /// Searches other places for the program. Only root may own them, as with the default ones.
    #[must_use]
    pub fn with_places(mut self, places: Vec<PathBuf>) -> Self {
        self.places = places;
        self
    }

    /// Returns the same bubblewrap, without which commands are refused.
    #[must_use]
    pub(super) fn required(&self) -> Self {
        Self {
            wanted: BubblewrapUse::Require,
            ..self.clone()
        }
    }

    /// Returns the configured use.
    pub fn wanted(&self) -> BubblewrapUse {
        self.wanted
    }

    /// Returns whether bubblewrap is wanted and installed; it may still not work. Starts nothing.
    pub fn may_work(&self) -> bool {
        self.wanted != BubblewrapUse::Off && find(&self.places).is_ok()
    }

    /// Returns the result of the trial, if there was one: the program, or why it does not work.
    pub fn found(&self) -> Option<Result<PathBuf, String>> {
        let cell = self.known.lock().clone();
        let (_, found) = cell.get()?;
        Some(found.clone())
    }

    /// Returns the program for a command whose plan uses bubblewrap.
    ///
    /// # Errors
    /// Bubblewrap has failed another command meanwhile: the reason, as half a sentence.
    pub(super) fn program(&self) -> Result<PathBuf, String> {
        let why = |why: &str| format!("bubblewrap, which was to hold it, works no more{why}");
        match self.found() {
            Some(Ok(program)) => Ok(program),
            Some(Err(error)) => Err(why(&format!(": {error}"))),
            None => Err(why("")),
        }
    }

    /// Returns whether bubblewrap is wanted and has no trial result.
    pub(super) fn wants_a_try(&self) -> bool {
        self.wanted != BubblewrapUse::Off
            && self.children.is_some()
            && match self.known.lock().get() {
                None => true,
                Some((at, found)) => found.is_err() && at.elapsed() >= FAILED_FOR,
            }
    }

    /// Notes that bubblewrap failed to start a command. A new trial runs before the next command.
    pub fn has_failed(&self) {
        *self.known.lock() = Arc::default();
    }

    /// Runs a trial, if bubblewrap is wanted and has no result, or failed a while ago.
    pub(super) async fn settle(&self, kernel: Support) {
        let (false, Some(children)) = (self.wanted == BubblewrapUse::Off, &self.children) else {
            return;
        };
        let cell = {
            let mut known = self.known.lock();
            if matches!(known.get(), Some((at, Err(_))) if at.elapsed() >= FAILED_FOR) {
                *known = Arc::default();
            }
            known.clone()
        };
        let tried = async || {
            let found = try_it(&self.places, children, kernel).await;
            (Instant::now(), found)
        };
        match &cell.get_or_init(tried).await.1 {
            Ok(program) => tracing::debug!(program = %program.display(), "bubblewrap works"),
            Err(why) => tracing::debug!(%why, "bubblewrap is not used"),
        }
    }
}

/// Settings of git without background maintenance. The end of the command would kill the maintenance, which would leave
/// its locks behind.
const NO_UPKEEP: [(&str, &str); 2] = [("gc.auto", "0"), ("maintenance.auto", "false")];
/// The variable with the number of settings that git reads from its environment.
const GIT_SETTINGS: &str = "GIT_CONFIG_COUNT";

/// Appends the settings to those in the environment.
pub(super) fn without_upkeep(environment: &mut Environment) {
    let there = environment.get(GIT_SETTINGS).and_then(|count| count.to_str());
    let mut count: u32 = there.and_then(|count| count.parse().ok()).unwrap_or(0);
    for (name, value) in NO_UPKEEP {
        environment.set(format!("GIT_CONFIG_KEY_{count}"), name);
        environment.set(format!("GIT_CONFIG_VALUE_{count}"), value);
        count = count.saturating_add(1);
    }
    environment.set(GIT_SETTINGS, count.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_gits_that_are_there_stay_before_ours() {
        for (count, first) in [(None, 0), (Some("0"), 0), (Some("3"), 3), (Some("many"), 0)] {
            let mut environment = Environment::empty();
            if let Some(count) = count {
                environment.set(GIT_SETTINGS, count);
            }
            environment.set("GIT_CONFIG_KEY_2", "core.pager");
            without_upkeep(&mut environment);
            let get = |name: String| environment.get(name).and_then(|value| value.to_str());
            assert_eq!(
                get(GIT_SETTINGS.to_owned()),
                Some((first + 2).to_string().as_str())
            );
            assert_eq!(get(format!("GIT_CONFIG_KEY_{first}")), Some("gc.auto"));
            assert_eq!(get(format!("GIT_CONFIG_VALUE_{}", first + 1)), Some("false"));
            assert_eq!(get("GIT_CONFIG_KEY_2".to_owned()), Some("core.pager"));
        }
    }
}
