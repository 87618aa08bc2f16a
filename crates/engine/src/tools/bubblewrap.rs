//! Bubblewrap as the configuration wants it: tried once, when it is first needed, and what became of that.
//!
//! A machine can have a bubblewrap that does not work, because the system lets nobody make namespaces or because we are
//! in a container ourselves. So it is run once with all that a command's view is made of, around the helper, before
//! anything is promised ([`super::bubblewrap_try`]). The result stays for the life of the process; one failure later has it
//! tried again, and where it fails a command once more although the try went well, it is not used for a while. Bounds: one
//! try at a time, of 20 s.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bobbin_children::{Children, Environment, ProcessSpec, Starter};
use bobbin_sandbox::{
    HANDED_ARGUMENT, HELPER_ARGUMENT, PLACES, Plan, REPORT_ARGUMENT, Support, find, view_arguments,
};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::bubblewrap_try::try_it;
use super::wrapped::{Wrapped, handed, number, pair};

/// Whether commands are to be held by bubblewrap too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BubblewrapUse {
    /// No.
    #[default]
    Off,
    /// Where it works.
    Auto,
    /// Always: where it does not work, no command runs.
    Require,
}

/// Bubblewrap, and what is known of it. Clones share what is known.
#[derive(Debug, Clone, Default)]
pub struct Bubblewrap {
    wanted: BubblewrapUse,
    places: Vec<PathBuf>,
    children: Option<Children>,
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// Replaced when what was found turns out to be so no more.
    found: Arc<OnceCell<Tried>>,
    /// It has failed a command, and held none since.
    has_failed: bool,
}

/// What a try has shown: what is run, or why it does not work.
pub(super) type Found = Result<Working, String>;
/// When it was tried, and what came of it.
pub(super) type Tried = (Instant, Found);

/// How long a failure counts: what was busy, broken or missing may be well again.
const FAILED_FOR: Duration = Duration::from_mins(1);

/// A bubblewrap that works.
#[derive(Debug, Clone)]
pub(super) struct Working {
    pub(super) program: PathBuf,
    /// The helper, open: its name may lead nowhere in a command's view, or to something else after an upgrade.
    pub(super) helper: Arc<OwnedFd>,
}

/// Whether a command has begun, or what was to hold it has failed before.
#[derive(Debug)]
pub struct Begun {
    told: UnixStream,
    heard: AtomicBool,
    /// The try that had it promised.
    by: Weak<OnceCell<Tried>>,
}

impl Begun {
    /// Whether all was held and the command was next. Of a process that goes on: up to now.
    pub fn has(&self) -> bool {
        let told = || (&self.told).read(&mut [0]).is_ok_and(|bytes| bytes == 1);
        self.heard.fetch_or(told(), Ordering::Relaxed) || self.heard.load(Ordering::Relaxed)
    }
}

impl Bubblewrap {
    /// Returns bubblewrap in its usual places, as it is wanted; `children` starts it when it is tried.
    pub fn new(wanted: BubblewrapUse, children: Children) -> Self {
        Self {
            wanted,
            places: PLACES.map(PathBuf::from).to_vec(),
            children: Some(children),
            known: Arc::default(),
        }
    }

    /// Looks in other places. They must be nobody's but root's, as the usual ones.
    #[must_use]
    pub fn with_places(mut self, places: Vec<PathBuf>) -> Self {
        self.places = places;
        self
    }

    /// Returns whether it is wanted.
    pub fn wanted(&self) -> BubblewrapUse {
        self.wanted
    }

    /// Whether it is wanted and there is one, which may work or not. Starts nothing.
    pub(crate) fn may_work(&self) -> bool {
        self.wanted != BubblewrapUse::Off && find(&self.places).is_ok()
    }

    /// Returns what was found, once it was tried: the program, or why it does not work.
    pub fn found(&self) -> Option<Result<PathBuf, String>> {
        let cell = self.known.lock().found.clone();
        let (_, found) = cell.get()?;
        Some(
            found
                .as_ref()
                .map(|working| working.program.clone())
                .map_err(Clone::clone),
        )
    }

    /// Returns what starts a process within a plan's view, held by the helper there.
    ///
    /// # Errors
    /// Why it cannot be started so, as half a sentence.
    pub(super) fn wrap(&self, plan: &Plan, inner: ProcessSpec) -> Result<Wrapped, String> {
        let cell = self.known.lock().found.clone();
        let Some((_, Ok(working))) = cell.get() else {
            return Err("bubblewrap, which was to hold it, works no more".to_owned());
        };
        working.wrap(plan, inner, Arc::downgrade(&cell))
    }

    /// Whether it is wanted and it is not known whether it works.
    pub(super) fn wants_a_try(&self) -> bool {
        self.wanted != BubblewrapUse::Off
            && self.children.is_some()
            && match self.known.lock().found.get() {
                None => true,
                Some((at, found)) => found.is_err() && at.elapsed() >= FAILED_FOR,
            }
    }

    /// Notes that it has held a command.
    pub(crate) fn has_held(&self) {
        self.known.lock().has_failed = false;
    }

    /// Notes that a command did not begin that it was to hold, and why, unless the command's time was over, which may have
    /// been too short for anything. It is tried again before the next one. The second reason counts for as long as a
    /// try that failed: a try does not show it.
    pub(crate) fn has_failed(&self, begun: &Begun, why: Option<&str>) {
        let mut known = self.known.lock();
        if !Weak::ptr_eq(&Arc::downgrade(&known.found), &begun.by) {
            // Another try has been asked for since.
            return;
        }
        let again = why.filter(|_| known.has_failed);
        let found = again.map(|why| (Instant::now(), Err(why.to_owned())));
        known.found = Arc::new(OnceCell::new_with(found));
        known.has_failed |= why.is_some();
    }

    /// Tries it, if it is wanted and was not tried yet, or failed a while ago.
    pub(super) async fn settle(&self, helper: &Path, kernel: Support, hide: &[PathBuf]) {
        let (false, Some(children)) = (self.wanted == BubblewrapUse::Off, &self.children) else {
            return;
        };
        let cell = {
            let mut known = self.known.lock();
            if matches!(known.found.get(), Some((at, Err(_))) if at.elapsed() >= FAILED_FOR) {
                known.found = Arc::default();
            }
            known.found.clone()
        };
        let tried = async || {
            let found = try_it(&self.places, children, helper, kernel, hide).await;
            (Instant::now(), found)
        };
        match &cell.get_or_init(tried).await.1 {
            Ok(working) => tracing::debug!(program = %working.program.display(), "bubblewrap works"),
            Err(why) => tracing::debug!(%why, "bubblewrap is not used"),
        }
    }
}

impl Working {
    /// Returns what starts a process within a plan's view, promised by a try.
    ///
    /// # Errors
    /// Why it cannot be started so, as half a sentence.
    pub(super) fn wrap(
        &self,
        plan: &Plan,
        inner: ProcessSpec,
        by: Weak<OnceCell<Tried>>,
    ) -> Result<Wrapped, String> {
        let ProcessSpec {
            program,
            args,
            cwd,
            env: mut environment,
            input,
            ..
        } = inner;
        let real = cwd
            .canonicalize()
            .map_err(|error| format!("{} cannot be entered: {error}", cwd.display()))?;
        let for_bubblewrap = handed(view_arguments(plan, &real))?;
        let for_helper = handed(plan.within().arguments(program, args))?;
        without_upkeep(&mut environment);
        let (told, theirs) = pair().map_err(|error| format!("its begin cannot be watched: {error}"))?;
        // Its first process is seen by the command, and by everybody outside: what it is called with names hidden places.
        let spec = ProcessSpec::new(&self.program, cwd, environment)
            .args(["--args".to_owned(), number(&for_bubblewrap)])
            .arg(format!("/proc/self/fd/{}", number(&self.helper)))
            .arg(HELPER_ARGUMENT)
            .args([REPORT_ARGUMENT.to_owned(), number(&theirs)])
            .args([HANDED_ARGUMENT.to_owned(), number(&for_helper)])
            .input(input)
            .starter(Starter {
                open: vec![self.helper.clone(), theirs, for_bubblewrap, for_helper],
            });
        let heard = AtomicBool::new(false);
        let begun = Some(Begun { told, heard, by });
        Ok(Wrapped { spec, begun })
    }
}

/// Settings of git's: no upkeep of a repository behind a command's back. It would be killed with the command, and leave its
/// locks behind.
const NO_UPKEEP: [(&str, &str); 2] = [("gc.auto", "0"), ("maintenance.auto", "false")];
/// Where git looks for the number of settings among its variables.
const GIT_SETTINGS: &str = "GIT_CONFIG_COUNT";

/// Adds them behind those that are there.
fn without_upkeep(environment: &mut Environment) {
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

    fn begun(bubblewrap: &Bubblewrap) -> Begun {
        Begun {
            told: pair().unwrap().0,
            heard: AtomicBool::new(false),
            by: Arc::downgrade(&bubblewrap.known.lock().found),
        }
    }

    #[test]
    fn a_failure_has_it_tried_again_and_the_next_one_without_a_command_held_between_counts() {
        let bubblewrap = Bubblewrap::default();
        let (first, late) = (begun(&bubblewrap), begun(&bubblewrap));
        bubblewrap.has_failed(&first, Some("first"));
        bubblewrap.has_failed(&late, Some("held by what is tried no more"));
        assert_eq!(bubblewrap.found(), None);
        bubblewrap.has_failed(&begun(&bubblewrap), None);
        assert_eq!(bubblewrap.found(), None);
        bubblewrap.has_failed(&begun(&bubblewrap), Some("second"));
        assert_eq!(bubblewrap.found(), Some(Err("second".to_owned())));
        bubblewrap.has_held();
        bubblewrap.has_failed(&begun(&bubblewrap), None);
        bubblewrap.has_failed(&begun(&bubblewrap), Some("first again"));
        assert_eq!(bubblewrap.found(), None);
    }

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
