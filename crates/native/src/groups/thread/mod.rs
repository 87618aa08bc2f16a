//! `thread/*` and `channel/list`: the life of a Thread, lists, reads, subscriptions (AppServer protocol 02).

pub(crate) mod channel;
pub mod config;
pub(crate) mod lifecycle;
pub mod notifications;
pub mod params;
pub(crate) mod read;
pub(crate) mod rollback;
pub(crate) mod search;
pub mod search_types;
pub(crate) mod subscribe;
pub mod types;

use crate::group::{Group, Method};
use crate::wire::{self, ErrorCode};

pub(crate) const THREAD_SUBSCRIBE: &str = "thread/subscribe";
pub(crate) const THREAD_STARTED: &str = "thread/started";
pub(crate) const THREAD_RESUMED: &str = "thread/resumed";
pub(crate) const THREAD_RENAMED: &str = "thread/renamed";
pub(crate) const THREAD_DELETED: &str = "thread/deleted";
pub(crate) const THREAD_STATUS_CHANGED: &str = "thread/statusChanged";
pub(crate) const THREAD_RUNTIME_CHANGED: &str = "thread/runtimeChanged";
pub(crate) const THREAD_QUEUE_UPDATED: &str = "thread/queue/updated";
pub(crate) const THREAD_ROLLED_BACK: &str = "thread/rolledBack";
pub(crate) const THREAD_SYNCED: &str = "thread/synced";

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::request::<wire::ThreadStartParams, wire::ThreadResult>(
            "thread/start",
            "Creates a Thread.",
            &[],
            |call| call.wait(lifecycle::start),
        ),
        Method::request::<wire::ThreadResumeParams, wire::ThreadResult>(
            "thread/resume",
            "Makes a Thread active and binds its client-side tools to this connection.",
            &[ErrorCode::ThreadNotFound, ErrorCode::ThreadNotActive],
            |call| call.wait(lifecycle::resume),
        ),
        Method::request::<wire::ThreadListParams, wire::ThreadListResult>(
            "thread/list",
            "Lists Threads, latest activity first.",
            &[],
            |call| call.now(read::list),
        ),
        Method::request::<wire::ThreadSearchParams, wire::ThreadSearchResult>(
            "thread/search",
            "Extension: finds text in the history of all Threads.",
            &[],
            |call| call.now(search::search),
        ),
        Method::request::<wire::ThreadReadParams, wire::ThreadReadResult>(
            "thread/read",
            "Reads a Thread without changing anything.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(read::read),
        ),
        Method::request::<wire::ThreadSubscribeParams, wire::ThreadSubscribeResult>(
            THREAD_SUBSCRIBE,
            "Starts the delivery of a Thread's events to this connection.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(subscribe::subscribe),
        ),
        Method::request::<wire::ThreadUnsubscribeParams, wire::EmptyResult>(
            "thread/unsubscribe",
            "Ends that delivery.",
            &[],
            |call| call.now(subscribe::unsubscribe),
        ),
        Method::request::<wire::ThreadRenameParams, wire::EmptyResult>(
            "thread/rename",
            "Gives a Thread another title.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(lifecycle::rename),
        ),
        Method::request::<wire::ThreadTargetParams, wire::EmptyResult>(
            "thread/delete",
            "Deletes a Thread and its subagents for good.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(lifecycle::delete),
        ),
        Method::request::<wire::ThreadTargetParams, wire::EmptyResult>(
            "thread/pause",
            "Keeps new Turns from starting. A running one goes on.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(lifecycle::pause),
        ),
        Method::request::<wire::ThreadTargetParams, wire::EmptyResult>(
            "thread/archive",
            "Puts a Thread and its subagents away.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(lifecycle::archive),
        ),
        Method::request::<wire::ThreadTargetParams, wire::EmptyResult>(
            "thread/unarchive",
            "Takes them out again.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(lifecycle::unarchive),
        ),
        Method::request::<wire::ThreadModeSetParams, wire::EmptyResult>(
            "thread/mode/set",
            "Sets the agent's mode, from the next Turn on.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(lifecycle::set_mode),
        ),
        Method::request::<wire::ThreadConfigUpdateParams, wire::EmptyResult>(
            "thread/config/update",
            "Replaces a Thread's configuration, from the next Turn on.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(lifecycle::configure),
        ),
        Method::request::<wire::ThreadRollbackParams, wire::ThreadRollbackResult>(
            "thread/rollback",
            "Drops Turns from the end of the conversation. Files stay as they are.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait(rollback::rollback),
        ),
        Method::request::<wire::EmptyParams, wire::ChannelListResult>(
            "channel/list",
            "Lists the channels that Threads may come from.",
            &[],
            |call| call.now(channel::list),
        ),
        Method::client_notification::<wire::ThreadSubscribeParams>(
            THREAD_SUBSCRIBE,
            "The request of the same name, without an answer: some clients send it so after a reconnect.",
        ),
        Method::notification::<wire::ThreadStartedNotification>(THREAD_STARTED, "A Thread was created."),
        Method::notification::<wire::ThreadResumedNotification>(THREAD_RESUMED, "A Thread was resumed."),
        Method::notification::<wire::ThreadRenamedNotification>(
            THREAD_RENAMED,
            "A Thread has another title.",
        ),
        Method::notification::<wire::ThreadDeletedNotification>(THREAD_DELETED, "A Thread is gone."),
        Method::notification::<wire::ThreadStatusChangedNotification>(
            THREAD_STATUS_CHANGED,
            "A Thread was paused, archived, or is active again.",
        ),
        Method::notification::<wire::ThreadRuntimeChangedNotification>(
            THREAD_RUNTIME_CHANGED,
            "What a Thread is doing has changed.",
        ),
        Method::notification::<wire::ThreadQueueUpdatedNotification>(
            THREAD_QUEUE_UPDATED,
            "A Thread's queue has changed.",
        ),
        Method::notification::<wire::ThreadRolledBackNotification>(
            THREAD_ROLLED_BACK,
            "Extension: Turns were dropped from the end of the conversation.",
        ),
        Method::notification::<wire::ThreadSyncedNotification>(
            THREAD_SYNCED,
            "Extension: the end of a replay.",
        ),
    ],
    capabilities: |_, capabilities| {
        capabilities.thread_management = true;
        capabilities.thread_subscriptions = true;
        capabilities.event_cursors = true;
        capabilities.mode_switch = true;
        capabilities.config_override = true;
        capabilities.thread_search = true;
    },
    ..Group::EMPTY
};
