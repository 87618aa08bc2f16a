//! Subagents against the limits of the Turn above, which asks no model while it waits for them.
//!
//! What they use counts in that Turn: each request of theirs that is answered is held against its tokens and money at
//! once, so that the bound is passed by the requests that are under way and not by whole Turns. Time in which all that
//! are waited for wait for people is people's time.

use bobbin_core::engine::{EngineFailure, TurnContext};

use super::limits::{Ledger, Stopwatch, TurnLimits};

/// Watches over the subagents of a Turn. Returns when what they use has taken it to one of its bounds.
///
/// # Cancel safety
/// Lets go of the watch, nothing else.
pub(super) async fn watch_over(
    turn: TurnContext,
    limits: TurnLimits,
    ledger: Ledger,
    watch: Stopwatch,
) -> EngineFailure {
    let children = turn.sub_agents();
    let mut changes = children.changes();
    let mut used = children.used();
    let mut held = None;
    loop {
        let now = children.used();
        // What the Turn itself has used is held between its requests.
        if now != used
            && let Err(over) = limits.check_below(ledger.with(now))
        {
            return over;
        }
        used = now;
        if children.all_wait_for_users() {
            held.get_or_insert_with(|| watch.pause());
        } else {
            held = None;
        }
        if changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
