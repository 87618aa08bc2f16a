//! What a frame weighs: the bytes that the bounds of logs, batches and backlogs count.

use std::io::{Result, Write};

use bobbin_model::{Event, Item, ItemBody, Turn};
use serde::Serialize;

use crate::View;

/// What an Item weighs beside its text.
const ITEM: usize = 128;
/// What a Thread weighs beside its open Turn, queue and plan.
const THREAD: usize = 1024;

/// Returns about how many bytes an event and what is shown with it take.
pub(crate) fn weight_of(event: &Event, view: &View) -> usize {
    let shown = match view {
        View::None => 0,
        View::Turn(turn) => weight_of_turn(turn),
        View::Thread(state) => {
            let live = state.live.iter().flat_map(|live| &live.turn.items);
            THREAD + live.map(of_item).sum::<usize>() + serialized(&state.queue) + serialized(&state.plan)
        }
    };
    let own = match event {
        // The common ones, without going over their text.
        Event::ItemStarted { item, .. }
        | Event::ItemCompleted { item, .. }
        | Event::ItemAdded { item, .. } => of_item(item),
        Event::CallStarted { .. } | Event::UsageAdded { .. } | Event::TurnEnded { .. } => ITEM,
        other => serialized(other),
    };
    own + shown
}

/// Returns about how many bytes a Turn takes.
pub(crate) fn weight_of_turn(turn: &Turn) -> usize {
    turn.items.iter().map(of_item).sum()
}

fn of_item(item: &Item) -> usize {
    ITEM + match &item.body {
        ItemBody::AgentMessage { text } | ItemBody::Reasoning { text } => text.len(),
        ItemBody::ToolResult { result, .. } => result.len(),
        ItemBody::CommandExecution(run) => run.command.len() + run.aggregated_output.len(),
        other => serialized(other),
    }
}

/// Returns the length of a value's JSON.
fn serialized(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Our own types serialize; what did not would be counted as far as it came.
    drop(serde_json::to_writer(&mut count, value));
    count.0
}
