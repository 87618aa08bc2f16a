//! `thread/*` and `channel/list`: the life of a Thread, lists, reads, subscriptions (AppServer protocol 02).

pub(crate) mod channel;
pub(crate) mod history;
pub(crate) mod instructions;
pub(crate) mod lifecycle;
pub mod maintenance;
pub mod read;
pub(crate) mod rollback;
pub(crate) mod subscribe;

use bobbin_native_wire::handshake::types::{EmptyParams, EmptyResult};
use bobbin_native_wire::thread::history_types::{
    ThreadItemsListParams, ThreadItemsListResult, ThreadTurnsListParams, ThreadTurnsListResult,
};
use bobbin_native_wire::thread::notifications::{
    ThreadArchivedNotification, ThreadConfiguredNotification, ThreadDeletedNotification,
    ThreadQueueUpdatedNotification, ThreadRenamedNotification, ThreadResumedNotification,
    ThreadRolledBackNotification, ThreadRuntimeChangedNotification, ThreadStartedNotification,
    ThreadStatusChangedNotification, ThreadSyncedNotification, ThreadUpdatedNotification,
};
use bobbin_native_wire::thread::params::{
    ChannelListResult, ThreadConfigUpdateParams, ThreadListParams, ThreadListResult, ThreadModeSetParams,
    ThreadReadParams, ThreadReadResult, ThreadRenameParams, ThreadResult, ThreadResumeParams,
    ThreadRollbackParams, ThreadRollbackResult, ThreadStartParams, ThreadSubscribeParams,
    ThreadSubscribeResult, ThreadTargetParams, ThreadUnsubscribeParams,
};

use crate::group::need::{Member, Need};
use crate::group::page::Page;
use crate::group::{Group, rows};
use crate::groups::thread::maintenance::ThreadCompactResult;

pub(crate) const THREAD_SUBSCRIBE: &str = "thread/subscribe";
pub(crate) const THREAD_STARTED: &str = "thread/started";
pub(crate) const THREAD_RESUMED: &str = "thread/resumed";
pub(crate) const THREAD_RENAMED: &str = "thread/renamed";
pub(crate) const THREAD_DELETED: &str = "thread/deleted";
pub(crate) const THREAD_STATUS_CHANGED: &str = "thread/statusChanged";
pub(crate) const THREAD_RUNTIME_CHANGED: &str = "thread/runtimeChanged";
pub(crate) const THREAD_STATUS_CHANGED_TODAY: &str = "thread/status/changed";
pub(crate) const THREAD_ARCHIVED: &str = "thread/archived";
pub(crate) const THREAD_UNARCHIVED: &str = "thread/unarchived";
pub(crate) const THREAD_UPDATED: &str = "thread/updated";
pub(crate) const THREAD_QUEUE_UPDATED: &str = "thread/queue/updated";
pub(crate) const THREAD_CONFIGURED: &str = "thread/configured";
pub(crate) const THREAD_ROLLED_BACK: &str = "thread/rolledBack";
pub(crate) const THREAD_SYNCED: &str = "thread/synced";

/// Members of a configuration that loosen what is asked, or that start something.
pub const LOOSENING: &[Member] = &[
    ("config.approvalPolicy", Need::Own),
    ("config.requireApprovalOutsideWorkspace", Need::Own),
    ("config.workspaceOverride", Need::Own),
    ("config.toolAllowList", Need::Own),
    ("config.toolDenyList", Need::Own),
    ("config.mcpServers", Need::Own),
    ("config.engine", Need::Own),
    ("config.agentControlToolAccess", Need::Own),
    ("config.allowedAgentControlTools", Need::Own),
];

const TODAY: &str = "to clients of today (`ClientCapabilities`)";
const TODAY_TEST: &str = "native/today: a_client_of_today_gets_the_new_name_directly_after_the_old_one";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::THREADS, Some("threadManagement");
        request "thread/start" (ThreadStartParams => ThreadResult) [] wait lifecycle::start, needs Prompt:
            "Creates a Thread.", members LOOSENING, spec "02 §5.1", test "native/transcripts: thread_start",
            note "with `dynamicTools` and both history modes; `workspacePath` is stored, and compared, with its \
                symbolic links resolved";
        request "thread/resume" (ThreadResumeParams => ThreadResult)
            [ThreadNotFound, ThreadNotActive] wait lifecycle::resume, needs Prompt:
            "Makes a Thread active and binds its client-side tools to this connection.", spec "02 §5.2",
            test "native/dynamic_tools: a_client_that_comes_back_and_resumes_serves_its_tools_again",
            note "with `dynamicTools`; a paused Thread whose last Turn was good goes on with its queue";
        request "thread/list" (ThreadListParams => ThreadListResult) [] now read::list, needs Read:
            "Lists Threads, latest activity first.", spec "02 §5.3",
            test "native/transcripts: thread_list_and_read",
            partial "without `limit` at most 5,000, with `nextCursor` where there are more; at most 256 \
                `crossChannelOrigins`; extensions `query`, `limit` and `cursor`";
        request "thread/read" (ThreadReadParams => ThreadReadResult)
            [ThreadNotFound] wait read::read, needs Read:
            "Reads a Thread without changing anything.", spec "02 §5.4",
            test "native/transcripts: thread_list_and_read",
            note "with `turnLimit` and `cursor`; without them `turnPage` says where to go on when the Turns have \
                more than 4 MiB of text. No Turn is cut: the newest, and the one that runs, come whole, in answers \
                of up to 64 MiB. A Turn that waits for an approval has the status `running` for clients without \
                `eventCursors`";
        request "thread/turns/list" (ThreadTurnsListParams => ThreadTurnsListResult)
            [ThreadNotFound] wait history::turns, needs Read:
            "Lists the Turns of a Thread without their Items, page by page, in either order.", spec "07 §6.3",
            test "native/today: history_is_read_page_by_page_in_both_orders";
        request "thread/items/list" (ThreadItemsListParams => ThreadItemsListResult)
            [ThreadNotFound, TurnNotFound] wait history::items, needs Read:
            "Lists the Items of a Thread or of one Turn, page by page, in either order.", spec "07 §6.4",
            test "native/today: history_is_read_page_by_page_in_both_orders",
            note "a page ends early behind 4 MiB of text";
        request THREAD_SUBSCRIBE (ThreadSubscribeParams => ThreadSubscribeResult)
            [ThreadNotFound] wait subscribe::subscribe, needs Read:
            "Starts the delivery of a Thread's events to this connection.", capability Some("threadSubscriptions"),
            spec "02 §5.5", test "native/transcripts: thread_subscribe_and_unsubscribe",
            note "with `afterSeq`; `replayRecent` starts with the newest Turn, and where that is more than 8 MiB \
                with what comes next";
        request "thread/unsubscribe" (ThreadUnsubscribeParams => EmptyResult)
            [] now subscribe::unsubscribe, needs Read:
            "Ends that delivery.", capability Some("threadSubscriptions"), spec "02 §5.6",
            test "native/transcripts: thread_subscribe_and_unsubscribe";
        request "thread/rename" (ThreadRenameParams => EmptyResult)
            [ThreadNotFound] wait lifecycle::rename, needs Prompt:
            "Gives a Thread another title.", spec "02 §5.7", test "native/transcripts: thread_rename_and_delete";
        request "thread/delete" (ThreadTargetParams => EmptyResult)
            [ThreadNotFound] wait lifecycle::delete, needs Own:
            "Deletes a Thread and its subagents for good.", spec "02 §5.8",
            test "native/transcripts: thread_rename_and_delete",
            note "the answer comes once the Thread is gone; its client is sent nothing else meanwhile, for five \
                seconds at most";
        request "thread/pause" (ThreadTargetParams => EmptyResult)
            [ThreadNotFound] wait lifecycle::pause, needs Prompt:
            "Keeps new Turns from starting. A running one goes on.", spec "02 §5.9",
            test "native/transcripts: thread_pause_and_resume";
        request "thread/archive" (ThreadTargetParams => EmptyResult)
            [ThreadNotFound] wait lifecycle::archive, needs Approve:
            "Puts a Thread and its subagents away.", spec "02 §5.9",
            test "native/transcripts: thread_archive_and_unarchive",
            note "ends the Thread's background terminals; their output stays";
        request "thread/unarchive" (ThreadTargetParams => EmptyResult)
            [ThreadNotFound] wait lifecycle::unarchive, needs Prompt:
            "Takes them out again.", spec "02 §5.9", test "native/transcripts: thread_archive_and_unarchive";
        request "thread/mode/set" (ThreadModeSetParams => EmptyResult)
            [ThreadNotFound] wait lifecycle::set_mode, needs Prompt:
            "Sets the agent's mode, from the next Turn on.", capability Some("modeSwitch"), spec "02 §5.10",
            test "native/transcripts: thread_mode_set_and_config_update";
        request "thread/config/update" (ThreadConfigUpdateParams => EmptyResult)
            [ThreadNotFound] wait lifecycle::configure, needs Prompt:
            "Replaces a Thread's configuration, from the next Turn on.", capability Some("configOverride"),
            members LOOSENING, spec "02 §5.11", test "native/transcripts: thread_mode_set_and_config_update",
            partial "every member is stored and returned, numbers as numbers (`1.50` comes back as `1.5`); acted \
                on are `mode`, `model`, `approvalPolicy`, `requireApprovalOutsideWorkspace`, `workspaceOverride`, \
                `toolAllowList`, `toolDenyList` and `agentInstructions`; not acted on are `mcpServers`, \
                `toolProfile`, `useToolProfileOnly`, `customTools`, `extensions`, `promptProfile`, \
                `roleInstructions` and `overrideBasePrompt`";
        request "thread/compact/start" (ThreadTargetParams => ThreadCompactResult)
            [ThreadNotFound, ThreadNotActive, TurnInProgress] wait maintenance::compact, needs Prompt:
            "Compacts the conversation and answers when that is over. The compaction is a Turn.",
            capability Some("manualCompaction"), spec "07 §6.9",
            test "server/agent: a_compaction_is_asked_for_and_stopped";
        request "thread/maintenance/interrupt" (ThreadTargetParams => EmptyResult)
            [ThreadNotFound] wait maintenance::interrupt, needs Approve:
            "Stops a compaction. Does nothing when there is none.",
            capability Some("threadMaintenanceInterrupt"), spec "07 §6.9",
            test "server/agent: a_compaction_is_asked_for_and_stopped";
        request "thread/rollback" (ThreadRollbackParams => ThreadRollbackResult)
            [ThreadNotFound] wait rollback::rollback, needs Approve:
            "Drops Turns from the end of the conversation. Files stay as they are.", spec "02 §5.12",
            test "native/transcripts: thread_rollback",
            partial "of the Turns that are left those that fit into 4 MiB, with the extension `turnPage`, which \
                says where `thread/read` goes on; `thread/rolledBack` is sent to clients with `eventCursors` alone";
        request "channel/list" (EmptyParams => ChannelListResult) [] now channel::list, needs Read:
            "Lists the channels that Threads may come from.", capability None, spec "02 §5.13",
            test "native/transcripts: channel_list";
        client_notification THREAD_SUBSCRIBE (ThreadSubscribeParams)
            wait subscribe::subscribe_quietly, needs Read:
            "The request of the same name, without an answer: some clients send it so after a reconnect.",
            capability Some("threadSubscriptions"), spec "02 §5.5",
            test "native/errors: a_notification_subscribes_too_and_unknown_ones_are_ignored";
        notification THREAD_STARTED (ThreadStartedNotification):
            "A Thread was created.", spec "02 §6", test "native/transcripts: thread_start";
        notification THREAD_RESUMED (ThreadResumedNotification):
            "A Thread was resumed.", spec "02 §6", test "native/transcripts: thread_pause_and_resume";
        notification THREAD_RENAMED (ThreadRenamedNotification):
            "A Thread has another title.", spec "02 §6", test "native/transcripts: thread_rename_and_delete",
            note "a client that subscribes in the same moment can get it twice";
        notification THREAD_DELETED (ThreadDeletedNotification):
            "A Thread is gone.", spec "02 §6", test "native/transcripts: thread_rename_and_delete";
        notification THREAD_STATUS_CHANGED (ThreadStatusChangedNotification):
            "A Thread was paused, archived, or is active again.", spec "02 §6",
            test "native/transcripts: thread_archive_and_unarchive";
        notification THREAD_RUNTIME_CHANGED (ThreadRuntimeChangedNotification):
            "What a Thread is doing has changed.", spec "02 §6",
            test "native/transcripts: turn_that_asks_and_is_allowed";
        notification THREAD_STATUS_CHANGED_TODAY (ThreadRuntimeChangedNotification):
            "The same as `thread/runtimeChanged`, directly after it.", spec "07 §2.2", test TODAY_TEST, note TODAY;
        notification THREAD_ARCHIVED (ThreadArchivedNotification):
            "A Thread was archived. Directly after `thread/statusChanged`.", spec "07 §2.2", test TODAY_TEST,
            note TODAY;
        notification THREAD_UNARCHIVED (ThreadArchivedNotification):
            "A Thread was taken out of the archive. Directly after `thread/statusChanged`.", spec "07 §2.2",
            test TODAY_TEST, note TODAY;
        notification THREAD_UPDATED (ThreadUpdatedNotification):
            "A Thread has another configuration or mode.", spec "07 §2.2", test TODAY_TEST, note TODAY;
        notification THREAD_QUEUE_UPDATED (ThreadQueueUpdatedNotification):
            "A Thread's queue has changed.", spec "02 §6",
            test "native/transcripts: turn_enqueue_and_queue_remove";
        notification THREAD_CONFIGURED (ThreadConfiguredNotification):
            "Extension: a Thread's configuration is another one.", capability Some("eventCursors"),
            test "native/cursors: a_new_configuration_is_news_to_clients_that_read_by_number",
            note "to clients that declared `eventCursors`";
        notification THREAD_ROLLED_BACK (ThreadRolledBackNotification):
            "Extension: Turns were dropped from the end of the conversation.", capability Some("eventCursors"),
            test "native/transcripts: thread_rollback", note "to clients that declared `eventCursors`";
        notification THREAD_SYNCED (ThreadSyncedNotification):
            "Extension: the end of a replay.", capability Some("eventCursors"),
            test "native/cursors: a_client_that_stopped_after_any_message_is_given_exactly_the_rest";
    },
    capabilities: |_, capabilities| {
        capabilities.thread_management = true;
        capabilities.thread_subscriptions = true;
        capabilities.event_cursors = true;
        capabilities.mode_switch = true;
        capabilities.config_override = true;
        capabilities.dynamic_tool_rebind = true;
        capabilities.manual_compaction = true;
        capabilities.thread_maintenance_interrupt = true;
    },
    unwanted: |capabilities| {
        if capabilities.is_today() {
            return Vec::new();
        }
        vec![
            THREAD_STATUS_CHANGED_TODAY,
            THREAD_ARCHIVED,
            THREAD_UNARCHIVED,
            THREAD_UPDATED,
        ]
    },
    ..Group::EMPTY
};
