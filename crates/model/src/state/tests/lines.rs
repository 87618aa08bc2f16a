//! Tables of decisions. An event is written as one line with every value that the rules decide.

use std::sync::Arc;

use super::*;
use crate::{DynamicToolCall, Json, QueueStatus};

/// The result of a command, in each of its shapes.
pub(super) trait Answer {
    fn answer(self) -> Result<Vec<Event>, Refusal>;
}

impl Answer for Result<Vec<Event>, Refusal> {
    fn answer(self) -> Result<Vec<Event>, Refusal> {
        self
    }
}

impl Answer for Vec<Event> {
    fn answer(self) -> Result<Vec<Event>, Refusal> {
        Ok(self)
    }
}

impl Answer for Option<Vec<Event>> {
    fn answer(self) -> Result<Vec<Event>, Refusal> {
        Ok(self.unwrap_or_default())
    }
}

impl Answer for Option<(ItemId, Vec<Event>)> {
    fn answer(self) -> Result<Vec<Event>, Refusal> {
        Ok(self.map(|(_, events)| events).unwrap_or_default())
    }
}

/// Rows of `state, command => [one line an event, or the name of the refusal];`.
macro_rules! table {
    ($($state:expr, $command:expr => [$($line:expr),* $(,)?];)*) => {
        $($crate::state::tests::lines::follows($state, stringify!($command), $command, &[$($line),*]);)*
    };
}
pub(super) use table;

pub(super) fn follows<A: Answer>(
    mut state: ThreadState,
    row: &str,
    command: fn(&ThreadState) -> A,
    expected: &[&str],
) {
    let before = state.clone();
    let lines: Vec<_> = match command(&state).answer() {
        Ok(events) => {
            for event in &events {
                well_formed(&state, event);
            }
            play(&mut state, &events);
            events.iter().map(line).collect()
        }
        Err(refusal) => vec![format!("no: {}", name_of(&refusal))],
    };
    assert_eq!(lines, expected, "{row}, from {before:#?}");
    let items = state.live.iter().flat_map(|live| &live.turn.items);
    assert!(
        items.zip(1..).all(|(item, n)| item.id == ItemId(n)),
        "{row}: {:?}",
        state.live
    );
}

/// Returns the name of a refusal's kind.
fn name_of(refusal: &Refusal) -> String {
    let text = format!("{refusal:?}");
    text.chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// Checks that an event is stored under its kind, decodes to itself, and belongs to the open Turn.
fn well_formed(state: &ThreadState, event: &Event) {
    let text = serde_json::to_string(event).unwrap();
    assert!(text.starts_with(&format!("{{\"{}\"", event.kind())), "{text}");
    let mut stored = event.clone();
    match &mut stored {
        Event::HistoryGiven { messages, .. } => *messages = Arc::default(),
        Event::TurnStarted { user_item, .. } => *user_item = None,
        _ => {}
    }
    assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), stored);
    if let Some(turn) = event.turn() {
        assert_eq!(
            turn,
            state.live_turn().unwrap_or(TurnId(state.last_turn.0 + 1)),
            "{text}"
        );
    }
}

/// Writes an event as its kind and all values that the rules decide.
pub(super) fn line(event: &Event) -> String {
    let what = match event {
        Event::ThreadRenamed { display_name } => display_name.clone(),
        Event::ThreadLabelled { name, value } => {
            name.clone() + &value.as_ref().map_or(String::new(), |value| format!("={value}"))
        }
        Event::ThreadResumed { by } => by.clone(),
        Event::ThreadStatusChanged { previous, new } => format!("{previous} {new}"),
        Event::EdgeChanged { status } => format!("{status:?}"),
        Event::ToolsDeclared { tools } => tools.len().to_string(),
        Event::QueueChanged { queue } => queue.iter().map(entry).collect::<Vec<_>>().join(" "),
        Event::TurnStarted {
            turn,
            user_item,
            origin_channel,
            features,
            from_queue,
        } => format!(
            "{turn} {} channel={} approvals={} from={}",
            user_item.as_deref().map_or_else(|| "-".to_owned(), item),
            origin_channel.as_deref().unwrap_or("-"),
            features.approvals,
            from_queue.as_ref().map_or("-", QueuedInputId::as_str)
        ),
        Event::HistoryGiven {
            turn,
            count,
            messages,
        } => format!("{turn} {count} {}", messages.len()),
        Event::TurnCancelling { turn, reason } => format!("{turn} {reason}"),
        Event::ItemStarted { item: one, .. }
        | Event::ItemCompleted { item: one, .. }
        | Event::ItemAdded { item: one, .. } => item(one),
        Event::ApprovalOpened { item: one, approval } => {
            format!(
                "{} {}/{} {}",
                item(one),
                approval.turn,
                approval.item,
                approval.id
            )
        }
        Event::ApprovalResolved {
            approval,
            decision,
            by,
            item: one,
            ..
        } => {
            format!("{approval} {decision} by {by:?}, {}", item(one))
        }
        Event::ContextNoted { note, .. } => format!("{note:?}"),
        Event::TurnEnded {
            outcome,
            completed_at,
            usage,
            plan_pending,
            ..
        } => {
            let plan = if *plan_pending { " plan" } else { "" };
            format!(
                "{} @{} {}{plan}",
                outcome.status().as_str(),
                completed_at.0,
                usage.total()
            )
        }
        other => panic!("no command gives {other:?}"),
    };
    format!("{} {what}", event.kind()).trim_end().to_owned()
}

/// Writes a queue entry: its id, `!` for guidance, `~` for one that lapses, `>` for one that follows any end.
fn entry(entry: &crate::QueuedInput) -> String {
    let guidance = entry.status == QueueStatus::GuidancePending;
    let marks = [(guidance, '!'), (entry.lapses, '~'), (entry.follows_any_end, '>')];
    let marks: String = marks
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, mark)| *mark)
        .collect();
    let after = entry.ready_after.map_or(String::new(), |turn| format!("@{turn}"));
    format!(
        "{}{marks}{after}={:?}",
        entry.id,
        crate::input::display_text(&entry.native)
    )
}

/// Writes an Item: its number, its status and its content.
fn item(item: &Item) -> String {
    let body = match &item.body {
        ItemBody::UserMessage(said) => format!("{:?} {}", said.delivery, said.text()),
        ItemBody::ToolCall {
            call_id,
            arguments,
            arguments_text,
            ..
        } => {
            format!(
                "{call_id} {:?} {arguments_text:?}",
                arguments.as_ref().map(Json::get)
            )
        }
        ItemBody::DynamicToolCall(call) => format!("{} {:?}", call.call_id, answer_of(call)),
        ItemBody::CommandExecution(run) => format!("{:?} {}", run.status, run.aggregated_output),
        ItemBody::ToolExecution {
            status,
            success,
            error_message,
            ..
        } => {
            format!(
                "{status:?} {success:?} {}",
                error_message.as_deref().unwrap_or("-")
            )
        }
        ItemBody::ApprovalRequest {
            request_id,
            operation,
            ..
        } => format!("asks {request_id} {operation}"),
        ItemBody::ApprovalResponse {
            request_id,
            approved,
            decision,
            ..
        } => {
            format!("answers {request_id} {decision} {approved}")
        }
        body => format!("text {:?}", body.text().unwrap_or_default()),
    };
    let end = item
        .completed_at
        .map_or("open".to_owned(), |at| format!("@{}", at.0));
    assert_eq!(item.completed_at.is_some(), item.status == ItemStatus::Completed);
    format!("{}[{end}] {body}", item.id)
}

fn answer_of(call: &DynamicToolCall) -> Option<(bool, &str)> {
    let answer = call.answer.as_ref()?;
    Some((answer.success, answer.error_code.as_deref().unwrap_or_default()))
}
