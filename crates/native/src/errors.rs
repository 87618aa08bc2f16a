//! The only conversion of core errors into codes of the wire. The matches are exhaustive, so a new error needs a code.

use bobbin_core::{CoreError, StoreError};
use bobbin_model::Refusal;
use bobbin_native_wire::RpcError;
use bobbin_peer::ErrorObject;
use bobbin_prompts::{NOT_TRUSTED, PromptError};

use crate::connection::RETRY_AFTER_MS;

/// Returns the wire's error for an error of the core. Internal causes go to the log.
pub fn of(error: &CoreError) -> RpcError {
    match error {
        CoreError::Refused(refusal) => of_refusal(refusal),
        CoreError::Store(source) => {
            tracing::error!(error = %source, "the store could not do what was asked");
            of_store(source)
        }
        CoreError::StoppedNotStored(source) => {
            tracing::error!(error = %source, "the end of an interrupted turn could not be stored");
            let cause = of_store(source);
            let error = RpcError::internal_error(
                "The turn was stopped, but its end could not be stored: the disk is full or fails. It is stored as soon as \
                 the disk takes it; until then the thread shows the turn as running.",
            );
            match cause.data.and_then(|data| data.reason) {
                Some(reason) => error.with_reason(reason),
                None => error,
            }
        }
        CoreError::Busy => RpcError::overloaded(RETRY_AFTER_MS),
        CoreError::Stopping => {
            RpcError::internal_error("The server is shutting down; reconnect in a moment.")
        }
    }
}

/// Says what a user can do next; `reason` is a word for programs that can act on it.
fn of_store(error: &StoreError) -> RpcError {
    let (text, reason) = match error {
        StoreError::Full => ("The disk is full; nothing was changed.", Some("diskFull")),
        StoreError::Unavailable(_) => (
            "The disk could not be written or read; nothing was changed. Look at its limits, quota and health.",
            Some("diskFailed"),
        ),
        StoreError::Unreachable(_) => (
            "The database cannot be reached; nothing was changed. The server goes on when it is back.",
            Some("databaseUnreachable"),
        ),
        StoreError::NotHeld => (
            "Another machine may serve this workspace now; nothing was changed. Connect again in a moment.",
            Some("notHeld"),
        ),
        StoreError::Damaged(_) => (
            "The database is damaged; nothing was changed. Stop the server and run `bobbin doctor`.",
            Some("databaseDamaged"),
        ),
        StoreError::Removed(_) => (
            "The database was removed or replaced; nothing was changed. The server ends; start it again.",
            Some("databaseRemoved"),
        ),
        StoreError::CorruptEvent { .. } | StoreError::CorruptThread { .. } => (
            "The stored thread is damaged; see the server's log.",
            Some("threadDamaged"),
        ),
        StoreError::Conflict { .. } | StoreError::Closed | StoreError::Database(_) => (
            "The store could not do what was asked; nothing was changed.",
            None,
        ),
    };
    let error = RpcError::internal_error(text);
    match reason {
        Some(reason) => error.with_reason(reason),
        None => error,
    }
}

fn of_refusal(refusal: &Refusal) -> RpcError {
    match refusal {
        Refusal::ThreadNotFound(id) => RpcError::thread_not_found(id.as_str()),
        Refusal::ThreadNotActive { thread, .. } => RpcError::thread_not_active(thread.as_str()),
        Refusal::TurnInProgress { thread, .. } => RpcError::turn_in_progress(thread.as_str()),
        Refusal::TurnNotFound(id) => RpcError::turn_not_found(id),
        Refusal::TurnNotRunning(id) => RpcError::turn_not_running(id),
        // A borrowed code that clients know (01 §10.2).
        Refusal::QueuedInputNotFound(id) => RpcError::thread_not_found(id.as_str()),
        Refusal::QueueFull(_) => RpcError::internal_error(sentence(refusal)).with_reason("queueFull"),
        Refusal::RequestIdReused(_) => RpcError::client_request_id_reused(),
        Refusal::FilesChanged { files, .. } => RpcError::files_changed(sentence(refusal), files.clone()),
        Refusal::NotNow(detail) => RpcError::internal_error(detail.clone()),
        Refusal::ApprovalNotOpen(_) => RpcError::internal_error(sentence(refusal)),
        Refusal::Invalid(detail) => RpcError::invalid_params(detail.clone()),
    }
}

/// Returns the wire's error for an error of commands and skills.
pub fn of_prompt(error: &PromptError) -> RpcError {
    match error {
        PromptError::NotFound { what: "skill", name } => RpcError::skill_not_found(name),
        PromptError::NotFound { name, .. } => RpcError::command_not_found(name),
        PromptError::NotTrusted { what: "skill", name } => {
            RpcError::skill_not_found(&format!("{name}. {NOT_TRUSTED}"))
        }
        PromptError::NotTrusted { name, .. } => {
            RpcError::command_not_found(&format!("{name}. {NOT_TRUSTED}"))
        }
        PromptError::BadName(_) | PromptError::OfPlugin { .. } | PromptError::TooLarge { .. } => {
            RpcError::invalid_params(sentence(error))
        }
        PromptError::Unreadable { .. } | PromptError::Unchangeable { .. } => {
            RpcError::internal_error(sentence(error))
        }
    }
}

/// Returns the wire's error for an input that names a command or skill (03 §3).
pub(crate) fn of_prompt_in_input(error: &PromptError) -> RpcError {
    match error {
        PromptError::NotFound { .. } | PromptError::NotTrusted { .. } => {
            RpcError::invalid_params(sentence(error))
        }
        other => of_prompt(other),
    }
}

fn sentence(refusal: &impl ToString) -> String {
    let text = refusal.to_string();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), chars.as_str()),
        None => text,
    }
}

/// Returns the error as the peer sends it.
pub(crate) fn object(error: RpcError) -> ErrorObject {
    let object = ErrorObject::new(error.code, error.message);
    match error.data {
        Some(data) => object.with_data(data),
        None => object,
    }
}

#[cfg(test)]
mod tests {
    use bobbin_model::{ApprovalId, QueuedInputId, ThreadId, ThreadStatus, TurnId};

    use super::*;

    #[test]
    fn refusals_have_the_codes_of_the_table() {
        let thread = || ThreadId::new("thread_1");
        let table = [
            (
                Refusal::ThreadNotFound(thread()),
                -32010,
                "Thread not found: thread_1",
            ),
            (
                Refusal::ThreadNotActive {
                    thread: thread(),
                    status: ThreadStatus::Paused,
                },
                -32011,
                "Thread is not active: thread_1",
            ),
            (
                Refusal::TurnInProgress {
                    thread: thread(),
                    turn: TurnId(1),
                },
                -32012,
                "A turn is already in progress on thread: thread_1",
            ),
            (
                Refusal::TurnNotFound("turn_9".into()),
                -32013,
                "Turn not found: turn_9",
            ),
            (
                Refusal::TurnNotRunning("turn_1".into()),
                -32014,
                "Turn is not running: turn_1",
            ),
            (
                Refusal::QueuedInputNotFound(QueuedInputId::new("q")),
                -32010,
                "Thread not found: q",
            ),
            (Refusal::QueueFull(thread()), -32603, "Internal error"),
            (
                Refusal::ApprovalNotOpen(ApprovalId::new("a")),
                -32603,
                "Internal error",
            ),
            (
                Refusal::FilesChanged {
                    turn: TurnId(1),
                    files: vec!["a".into()],
                },
                -32603,
                "Internal error",
            ),
            (Refusal::NotNow("x".into()), -32603, "Internal error"),
            (Refusal::Invalid("x".into()), -32602, "Invalid params"),
        ];
        for (refusal, code, message) in table {
            let error = of(&refusal.into());
            assert_eq!((error.code, error.message.as_str()), (code, message));
        }
        assert_eq!(of(&CoreError::Stopping).code, -32603);
    }

    #[test]
    fn what_went_wrong_inside_the_store_is_not_told() {
        let thread = || ThreadId::new("thread_1");
        let secret = || "/home/mika/.craft secret".to_owned();
        let table = [
            (StoreError::Full, "The disk is full"),
            (StoreError::Unavailable(secret()), "The disk could not be"),
            (StoreError::Unreachable(secret()), "when it is back"),
            (StoreError::NotHeld, "Connect again"),
            (StoreError::Damaged(secret()), "bobbin doctor"),
            (StoreError::Removed(secret()), "start it again"),
            (
                StoreError::CorruptThread {
                    thread: thread(),
                    reason: secret(),
                },
                "is damaged",
            ),
            (
                StoreError::CorruptEvent {
                    thread: thread(),
                    seq: bobbin_model::Seq(3),
                    reason: secret(),
                },
                "is damaged",
            ),
            (
                StoreError::Conflict {
                    thread: thread(),
                    seq: bobbin_model::Seq(3),
                },
                "could not do",
            ),
            (StoreError::Closed, "could not do"),
        ];
        for (error, told) in table {
            let error = of(&error.into());
            let text = serde_json::to_string(&object(error.clone())).unwrap();
            assert_eq!(error.code, -32603);
            assert!(text.contains(told) && !text.contains("mika"), "{text}");
        }
    }
}
