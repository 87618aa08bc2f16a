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
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::bubblewrap::{Begun, Bubblewrap, Untold};
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

impl Spares {
    /// Has the one that waits hold a command, which begins at its word. `None` where none does that can.
    pub(super) fn hold(
        &self,
        bubblewrap: &Bubblewrap,
        plan: &Plan,
        inner: &ProcessSpec,
    ) -> Option<(Started, Option<Begun>, Word, Seen)> {
        if plan.outer != Outer::Bubblewrap || inner.input != Input::Null {
            return None;
        }
        let fits = |spare: &mut Spare| spare.untold.is_for(bubblewrap, &inner.env);
        let spare = self.0.waiting.lock().take_if(fits)?;
        if spare.process.has_ended() {
            return None;
        }
        let seen = Seen::of(plan, &inner.cwd);
        let for_helper = spare.untold.tell(plan, inner, &seen)?;
        let Spare { process, untold } = spare;
        let (word, begun) = untold.word(for_helper);
        Some((process, Some(begun), word, seen))
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
