//! `thread/*` and `channel/list`: the life of a Thread, lists, reads, subscriptions (AppServer protocol 02).

pub(crate) mod channel;
pub mod config;
pub(crate) mod lifecycle;
pub mod notifications;
pub mod params;
pub mod read;
pub(crate) mod rollback;
pub(crate) mod subscribe;
pub mod types;

use crate::group::{Group, rows};
use crate::wire::{
    ChannelListResult, EmptyParams, EmptyResult, ThreadConfigUpdateParams, ThreadConfiguredNotification,
    ThreadDeletedNotification, ThreadListParams, ThreadListResult, ThreadModeSetParams,
    ThreadQueueUpdatedNotification, ThreadReadParams, ThreadReadResult, ThreadRenameParams,
    ThreadRenamedNotification, ThreadResult, ThreadResumeParams, ThreadResumedNotification,
    ThreadRollbackParams, ThreadRollbackResult, ThreadRolledBackNotification,
    ThreadRuntimeChangedNotification, ThreadStartParams, ThreadStartedNotification,
    ThreadStatusChangedNotification, ThreadSubscribeParams, ThreadSubscribeResult, ThreadSyncedNotification,
    ThreadTargetParams, ThreadUnsubscribeParams,
};

pub(crate) const THREAD_SUBSCRIBE: &str = "thread/subscribe";
pub(crate) const THREAD_STARTED: &str = "thread/started";
pub(crate) const THREAD_RESUMED: &str = "thread/resumed";
pub(crate) const THREAD_RENAMED: &str = "thread/renamed";
pub(crate) const THREAD_DELETED: &str = "thread/deleted";
pub(crate) const THREAD_STATUS_CHANGED: &str = "thread/statusChanged";
pub(crate) const THREAD_RUNTIME_CHANGED: &str = "thread/runtimeChanged";
pub(crate) const THREAD_QUEUE_UPDATED: &str = "thread/queue/updated";
pub(crate) const THREAD_CONFIGURED: &str = "thread/configured";
pub(crate) const THREAD_ROLLED_BACK: &str = "thread/rolledBack";
pub(crate) const THREAD_SYNCED: &str = "thread/synced";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "thread/start" (ThreadStartParams => ThreadResult) [] wait lifecycle::start:
            "Creates a Thread.";
        request "thread/resume" (ThreadResumeParams => ThreadResult)
            [ThreadNotFound, ThreadNotActive] wait lifecycle::resume:
            "Makes a Thread active and binds its client-side tools to this connection.";
        request "thread/list" (ThreadListParams => ThreadListResult) [] now read::list:
            "Lists Threads, latest activity first.";
        request "thread/read" (ThreadReadParams => ThreadReadResult) [ThreadNotFound] wait read::read:
            "Reads a Thread without changing anything.";
        request THREAD_SUBSCRIBE (ThreadSubscribeParams => ThreadSubscribeResult)
            [ThreadNotFound] wait subscribe::subscribe:
            "Starts the delivery of a Thread's events to this connection.";
        request "thread/unsubscribe" (ThreadUnsubscribeParams => EmptyResult) [] now subscribe::unsubscribe:
            "Ends that delivery.";
        request "thread/rename" (ThreadRenameParams => EmptyResult) [ThreadNotFound] wait lifecycle::rename:
            "Gives a Thread another title.";
        request "thread/delete" (ThreadTargetParams => EmptyResult) [ThreadNotFound] wait lifecycle::delete:
            "Deletes a Thread and its subagents for good.";
        request "thread/pause" (ThreadTargetParams => EmptyResult) [ThreadNotFound] wait lifecycle::pause:
            "Keeps new Turns from starting. A running one goes on.";
        request "thread/archive" (ThreadTargetParams => EmptyResult) [ThreadNotFound] wait lifecycle::archive:
            "Puts a Thread and its subagents away.";
        request "thread/unarchive" (ThreadTargetParams => EmptyResult)
            [ThreadNotFound] wait lifecycle::unarchive:
            "Takes them out again.";
        request "thread/mode/set" (ThreadModeSetParams => EmptyResult)
            [ThreadNotFound] wait lifecycle::set_mode:
            "Sets the agent's mode, from the next Turn on.";
        request "thread/config/update" (ThreadConfigUpdateParams => EmptyResult)
            [ThreadNotFound] wait lifecycle::configure:
            "Replaces a Thread's configuration, from the next Turn on.";
        request "thread/rollback" (ThreadRollbackParams => ThreadRollbackResult)
            [ThreadNotFound] wait rollback::rollback:
            "Drops Turns from the end of the conversation. Files stay as they are.";
        request "channel/list" (EmptyParams => ChannelListResult) [] now channel::list:
            "Lists the channels that Threads may come from.";
        client_notification THREAD_SUBSCRIBE (ThreadSubscribeParams) wait subscribe::subscribe_quietly:
            "The request of the same name, without an answer: some clients send it so after a reconnect.";
        notification THREAD_STARTED (ThreadStartedNotification): "A Thread was created.";
        notification THREAD_RESUMED (ThreadResumedNotification): "A Thread was resumed.";
        notification THREAD_RENAMED (ThreadRenamedNotification): "A Thread has another title.";
        notification THREAD_DELETED (ThreadDeletedNotification): "A Thread is gone.";
        notification THREAD_STATUS_CHANGED (ThreadStatusChangedNotification):
            "A Thread was paused, archived, or is active again.";
        notification THREAD_RUNTIME_CHANGED (ThreadRuntimeChangedNotification):
            "What a Thread is doing has changed.";
        notification THREAD_QUEUE_UPDATED (ThreadQueueUpdatedNotification): "A Thread's queue has changed.";
        notification THREAD_CONFIGURED (ThreadConfiguredNotification):
            "Extension: a Thread's configuration is another one.";
        notification THREAD_ROLLED_BACK (ThreadRolledBackNotification):
            "Extension: Turns were dropped from the end of the conversation.";
        notification THREAD_SYNCED (ThreadSyncedNotification): "Extension: the end of a replay.";
    },
    capabilities: |_, capabilities| {
        capabilities.thread_management = true;
        capabilities.thread_subscriptions = true;
        capabilities.event_cursors = true;
        capabilities.mode_switch = true;
        capabilities.config_override = true;
    },
    ..Group::EMPTY
};
