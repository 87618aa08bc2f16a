//! A bubblewrap that was started and told nothing: it waits for its arguments, so that the next command need not wait until
//! it is there.
//!
//! Nothing is looked up for it and nothing is made before it is told; what was decided is who runs it, and with which
//! variables. At most one waits, for [`KEPT`]; it is started a while after what holds the command before.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bobbin_children::{Environment, Input, ProcessSpec, Started};
use bobbin_sandbox::{Outer, Plan, Seen};
use bobbin_terminals::Terminals;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::bubblewrap::{Begun, Bubblewrap, Untold, texts};
use super::ready::FRESH;
use super::wrapped::Word;

/// How long after a command was got ready the next one's is started (guess: longer than short commands take).
const AFTER: Duration = Duration::from_millis(100);
/// How long one waits (guess: whoever runs no command for so long can wait for the next).
const KEPT: Duration = Duration::from_mins(5);

/// The place of the one that waits.
#[derive(Debug, Clone, Default)]
pub(super) struct Spares(Arc<Place>);

#[derive(Debug, Default)]
struct Place {
    waiting: Mutex<Option<Spare>>,
    /// Starts the next one, and ends it when nobody has used it.
    keeper: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// Dropped, it is killed before what it waits for can end.
#[derive(Debug)]
struct Spare {
    process: Started,
    untold: Untold,
}

/// A process that holds a command, where it is seen whether that has begun, what lets it, and what was looked up, when.
type Held = (Started, Option<Begun>, Word, (Instant, Seen));

/// What was looked up to hold one command, and what is told of it.
#[derive(Debug)]
pub(super) struct Looked {
    at: Instant,
    seen: Seen,
    view: Vec<u8>,
    within: Vec<u8>,
}

impl Looked {
    /// Looks it up for a process that has its variables. `None` where it cannot be held so: that is told when it is to begin.
    pub(super) fn at(plan: &Plan, inner: &ProcessSpec) -> Option<Self> {
        // A process that is started there finds that out by itself.
        inner.cwd.join(".").metadata().ok()?;
        let at = Instant::now();
        let seen = Seen::of(plan, &inner.cwd);
        let (program, arguments) = (inner.program.clone(), inner.args.clone());
        let (view, within) = texts(plan, &seen, &inner.cwd, program, arguments).ok()?;
        Some(Self {
            at,
            seen,
            view,
            within,
        })
    }
}

impl Spares {
    /// Whether one waits.
    pub(super) fn waits(&self) -> bool {
        self.0.waiting.lock().is_some()
    }

    /// Has the one that waits hold a command, which begins at its word. `None` where none does that can.
    pub(super) fn hold(
        &self,
        bubblewrap: &Bubblewrap,
        plan: &Plan,
        inner: &ProcessSpec,
        looked: Option<Looked>,
    ) -> Option<Held> {
        if plan.outer != Outer::Bubblewrap || inner.input != Input::Null {
            return None;
        }
        let fits = |spare: &mut Spare| spare.untold.is_for(bubblewrap, &inner.env);
        let spare = self.0.waiting.lock().take_if(fits)?;
        if spare.process.has_ended() {
            return None;
        }
        let looked = looked.filter(|looked| looked.at.elapsed() <= FRESH);
        let Looked {
            at,
            seen,
            view,
            within,
        } = looked.or_else(|| Looked::at(plan, inner))?;
        if !spare.untold.tell(&view, &within) {
            return None;
        }
        let Spare { process, untold } = spare;
        let (word, begun) = untold.word(within);
        Some((process, Some(begun), word, (at, seen)))
    }

    /// Has one wait for a command with these variables, in a while, unless one does.
    pub(super) fn fill(&self, bubblewrap: &Bubblewrap, environment: Environment, terminals: &Terminals) {
        let waits = |spare: &Spare| spare.untold.is_for(bubblewrap, &environment);
        if self.0.waiting.lock().as_ref().is_some_and(waits) {
            return;
        }
        let place = Arc::downgrade(&self.0);
        let keep = keep(place, bubblewrap.clone(), environment, terminals.clone());
        let keeper = AbortOnDropHandle::new(tokio::spawn(keep));
        drop(self.0.keeper.lock().replace(keeper));
    }
}

/// Starts one and puts it into its place, and takes it away when it was not used. The place is not held meanwhile: it ends
/// this when it goes.
async fn keep(place: Weak<Place>, bubblewrap: Bubblewrap, environment: Environment, terminals: Terminals) {
    sleep(AFTER).await;
    let spare = start(&bubblewrap, environment, &terminals).await;
    // They are not kept for it.
    drop((bubblewrap, terminals));
    let put = |spare| {
        let place = place.upgrade();
        drop(place.map(|place| std::mem::replace(&mut *place.waiting.lock(), spare)));
    };
    put(spare);
    sleep(KEPT).await;
    put(None);
}

async fn start(bubblewrap: &Bubblewrap, environment: Environment, terminals: &Terminals) -> Option<Spare> {
    let (spec, untold) = bubblewrap.untold(environment)?;
    let process = terminals.start_ahead(spec).await.ok()?;
    Some(Spare { process, untold })
}
