//! The entries of the audit about a Thread's events.

use bobbin_model::{Actor, DecidedBy, Decision, Event, Person, ThreadState, UnixMillis};
use bobbin_store::{AuditEntry, Cause, Deed};

/// Returns the entry about an event that is about to change a state; `None` for an event that the audit leaves out.
pub(super) fn entry(state: &ThreadState, event: &Event, at: UnixMillis) -> Option<AuditEntry> {
    let (actor, client, turn, deed) = match event {
        Event::TurnStarted {
            turn,
            origin_channel,
            features,
            ..
        } => {
            let deed = Deed::TurnStarted {
                channel: origin_channel.clone(),
                command: features.command.clone(),
            };
            (person(&features.actor), None, *turn, deed)
        }
        Event::ApprovalResolved {
            turn,
            approval,
            decision,
            by,
            ..
        } => {
            let scope = &state.approval(approval)?.scope;
            let lasts = matches!(decision, Decision::AcceptForSession | Decision::AcceptAlways);
            let approved = |text: &str| decision.approves().then(|| text.to_owned());
            let (actor, client, cause) = who(by);
            let deed = Deed::Answered {
                decision: *decision,
                cause,
                kind: scope.kind,
                operation: approved(&scope.operation),
                target: approved(&scope.target),
                rule: lasts.then(|| scope.session_key()),
            };
            (actor, client, *turn, deed)
        }
        _ => return None,
    };
    Some(AuditEntry {
        at,
        actor,
        client,
        thread: Some(state.header.id.clone()),
        turn: Some(turn),
        deed,
    })
}

fn person(actor: &Actor) -> Option<Person> {
    actor.person().cloned()
}

/// Returns who has answered, by which client, and the cause if it was no client.
fn who(by: &DecidedBy) -> (Option<Person>, Option<String>, Option<Cause>) {
    let cause = match by {
        DecidedBy::Client(client) => return (None, Some(client.clone()), None),
        DecidedBy::Person { client, person } => {
            return (Some((**person).clone()), Some(client.clone()), None);
        }
        DecidedBy::SameScope(_) => Cause::SameScope,
        DecidedBy::Interrupt => Cause::Interrupt,
        DecidedBy::Timeout => Cause::Timeout,
        DecidedBy::Policy => Cause::Policy,
        DecidedBy::CallEnded => Cause::CallEnded,
    };
    (None, None, Some(cause))
}
