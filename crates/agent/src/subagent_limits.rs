//! Enforces the limits of a parent Turn on its subagents. The Turn asks no model while it waits for them.
//!
//! The tokens and money of a subagent count in the parent Turn. Each answered request is checked against the limits at
//! once, so only requests under way can exceed them. While every awaited subagent waits for a user, the parent's clock
//! stands still.

use bobbin_core::engine::{EngineFailure, TurnContext};

use super::limits::{Ledger, Stopwatch, TurnLimits};

/// Watches the subagents of a Turn. Returns when their use has taken the Turn to one of its limits.
///
/// # Cancel safety
/// Cancel safe: dropping the future only ends the watch.
pub(super) async fn watch_over(
    turn: TurnContext,
    limits: TurnLimits,
    ledger: Ledger,
    watch: Stopwatch,
) -> EngineFailure {
    let children = turn.sub_agents();
    let mut changes = children.changes();
    let mut used = children.used();
    let mut paused = None;
    loop {
        let now = children.used();
        // The Turn checks its own use between its requests.
        if now != used
            && let Err(over) = limits.check_with_subagents(ledger.with(now))
        {
            return over;
        }
        used = now;
        if children.all_wait_for_users() {
            paused.get_or_insert_with(|| watch.pause());
        } else {
            paused = None;
        }
        if changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
