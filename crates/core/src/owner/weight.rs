//! The weight of a frame: its approximate bytes, which the bounds of logs, batches and backlogs count.

use std::io::{Result, Write};

use bobbin_model::{Event, Item, ItemBody, Turn};
use serde::Serialize;

use crate::View;

/// Weight of an Item besides its text.
const ITEM: usize = 128;
/// Weight of a Thread besides its open Turn, queue and plan.
const THREAD: usize = 1024;

/// Returns the approximate bytes of an event and its view.
pub(crate) fn weight_of(event: &Event, view: &View) -> usize {
    let shown = match view {
        View::None => 0,
        View::Turn(turn) => weight_of_turn(turn),
        View::Thread(state) => {
            let live = state.live.iter().flat_map(|live| &live.turn.items);
            THREAD
                + live.map(weight_of_item).sum::<usize>()
                + serialized(&state.queue)
                + serialized(&state.plan)
        }
    };
    let own = match event {
        // Frequent events, without a walk over their text.
        Event::ItemStarted { item, .. }
        | Event::ItemCompleted { item, .. }
        | Event::ItemAdded { item, .. } => weight_of_item(item),
        Event::CallStarted { .. } | Event::UsageAdded { .. } | Event::TurnEnded { .. } => ITEM,
        other => serialized(other),
    };
    own + shown
}

/// Returns the approximate bytes of a Turn.
pub(crate) fn weight_of_turn(turn: &Turn) -> usize {
    turn.items.iter().map(weight_of_item).sum()
}

/// Returns the approximate bytes of an Item.
pub fn weight_of_item(item: &Item) -> usize {
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
    // Our own types always serialize; otherwise the bytes so far count.
    drop(serde_json::to_writer(&mut count, value));
    count.0
}
