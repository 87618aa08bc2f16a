//! The rows. Order is that of the protocol's pages.

use super::{Availability, Direction, Method, Shape};
use crate::ErrorCode;

macro_rules! methods {
    ($(
        $(#[doc = $about:literal])+
        $group:ident: $direction:ident {
            $(
                $(#[doc = $summary:literal])+
                $constant:ident = $name:literal, $availability:ident,
                $params:ident $(=> $result:ident)? $(, [$($error:ident),*])?;
            )+
        }
    )+) => {
        $(
            $(#[doc = $about])+
            pub mod $group {
                $(
                    $(#[doc = $summary])+
                    pub const $constant: &str = $name;
                )+
            }
        )+

        /// Every method of the protocol.
        pub static METHODS: &[Method] = &[
            $($(
                Method {
                    name: $name,
                    direction: Direction::$direction,
                    availability: Availability::$availability,
                    summary: concat!($($summary),+).trim_ascii(),
                    params: Shape::of::<crate::$params>(),
                    result: methods!(@result $($result)?),
                    errors: &[$($(ErrorCode::$error),*)?],
                },
            )+)+
        ];
    };
    (@result) => { None };
    (@result $result:ident) => { Some(Shape::of::<crate::$result>()) };
}

methods! {
    /// Requests of a client.
    request: Request {
        /// Opens the connection. Must be the first request.
        INITIALIZE = "initialize", Now, InitializeParams => InitializeResult, [AlreadyInitialized];

        /// Creates a Thread.
        THREAD_START = "thread/start", Now, ThreadStartParams => ThreadResult;
        /// Makes a Thread active and binds its client-side tools to this connection.
        THREAD_RESUME = "thread/resume", Now, ThreadResumeParams => ThreadResult,
            [ThreadNotFound, ThreadNotActive];
        /// Lists Threads, latest activity first.
        THREAD_LIST = "thread/list", Now, ThreadListParams => ThreadListResult;
        /// Extension: finds text in the history of all Threads.
        THREAD_SEARCH = "thread/search", Now, ThreadSearchParams => ThreadSearchResult;
        /// Reads a Thread without changing anything.
        THREAD_READ = "thread/read", Now, ThreadReadParams => ThreadReadResult, [ThreadNotFound];
        /// Starts the delivery of a Thread's events to this connection.
        THREAD_SUBSCRIBE = "thread/subscribe", Now, ThreadSubscribeParams => ThreadSubscribeResult,
            [ThreadNotFound];
        /// Ends that delivery.
        THREAD_UNSUBSCRIBE = "thread/unsubscribe", Now, ThreadUnsubscribeParams => EmptyResult;
        /// Gives a Thread another title.
        THREAD_RENAME = "thread/rename", Now, ThreadRenameParams => EmptyResult, [ThreadNotFound];
        /// Deletes a Thread and its subagents for good.
        THREAD_DELETE = "thread/delete", Now, ThreadTargetParams => EmptyResult, [ThreadNotFound];
        /// Keeps new Turns from starting. A running one goes on.
        THREAD_PAUSE = "thread/pause", Now, ThreadTargetParams => EmptyResult, [ThreadNotFound];
        /// Puts a Thread and its subagents away.
        THREAD_ARCHIVE = "thread/archive", Now, ThreadTargetParams => EmptyResult, [ThreadNotFound];
        /// Takes them out again.
        THREAD_UNARCHIVE = "thread/unarchive", Now, ThreadTargetParams => EmptyResult, [ThreadNotFound];
        /// Sets the agent's mode, from the next Turn on.
        THREAD_MODE_SET = "thread/mode/set", Now, ThreadModeSetParams => EmptyResult, [ThreadNotFound];
        /// Replaces a Thread's configuration, from the next Turn on.
        THREAD_CONFIG_UPDATE = "thread/config/update", Now, ThreadConfigUpdateParams => EmptyResult,
            [ThreadNotFound];
        /// Drops Turns from the end of the conversation. Files stay as they are.
        THREAD_ROLLBACK = "thread/rollback", Now, ThreadRollbackParams => ThreadRollbackResult, [ThreadNotFound];
        /// Lists the channels that Threads may come from.
        CHANNEL_LIST = "channel/list", Now, EmptyParams => ChannelListResult;

        /// Starts a Turn.
        TURN_START = "turn/start", Now, TurnStartParams => TurnStartResult,
            [ThreadNotFound, ThreadNotActive, TurnInProgress];
        /// Puts an input into the queue.
        TURN_ENQUEUE = "turn/enqueue", Now, TurnEnqueueParams => TurnEnqueueResult,
            [ThreadNotFound, ThreadNotActive];
        /// Asks the running Turn to stop. It has stopped when `turn/cancelled` comes.
        TURN_INTERRUPT = "turn/interrupt", Now, TurnInterruptParams => EmptyResult,
            [ThreadNotFound, TurnNotFound, TurnNotRunning];
        /// Takes an input out of the queue.
        TURN_QUEUE_REMOVE = "turn/queue/remove", Now, TurnQueueRemoveParams => TurnQueueRemoveResult,
            [ThreadNotFound];
        /// Makes a queued input guidance for the running Turn.
        TURN_STEER = "turn/steer", Now, TurnSteerParams => TurnSteerResult,
            [ThreadNotFound, ThreadNotActive];
        /// Extension: undoes what a Turn did to files. The conversation stays.
        TURN_REVERT = "turn/revert", Now, TurnRevertParams => TurnRevertResult,
            [ThreadNotFound, TurnInProgress, TurnNotFound];

        /// Lists the subagents of a Thread.
        SUBAGENT_CHILDREN_LIST = "subagent/children/list", Now,
            SubagentChildrenListParams => SubagentChildrenListResult, [ThreadNotFound];
        /// Closes a subagent; what it does is stopped.
        SUBAGENT_CLOSE = "subagent/close", Now, SubagentTargetParams => SubagentTargetResult, [ThreadNotFound];
        /// Opens a subagent again. Nothing is given to it.
        SUBAGENT_RESUME = "subagent/resume", Now, SubagentTargetParams => SubagentTargetResult, [ThreadNotFound];

        /// Lists background terminals.
        TERMINAL_LIST = "terminal/list", Now, TerminalListParams => TerminalsResult;
        /// Reads a background terminal.
        TERMINAL_READ = "terminal/read", Now, TerminalReadParams => TerminalResult, [ThreadNotFound];
        /// Types into a background terminal.
        TERMINAL_WRITE = "terminal/write", Now, TerminalWriteParams => TerminalResult, [ThreadNotFound];
        /// Ends a background terminal.
        TERMINAL_STOP = "terminal/stop", Now, TerminalStopParams => TerminalResult, [ThreadNotFound];
        /// Removes a Thread's background terminals.
        TERMINAL_CLEAN = "terminal/clean", Now, TerminalCleanParams => TerminalsResult;

        /// Lists the configurations of MCP servers that are in effect.
        MCP_LIST = "mcp/list", Now, EmptyParams => McpListResult;
        /// Returns the configuration of one MCP server.
        MCP_GET = "mcp/get", Now, McpGetParams => McpServerResult, [McpServerNotFound];
        /// Adds an MCP server to the workspace's configuration, or replaces it there. It starts in the background.
        MCP_UPSERT = "mcp/upsert", Now, McpUpsertParams => McpServerResult,
            [McpInvalid, McpNameConflict, McpReadOnly];
        /// Removes an MCP server from the workspace's configuration.
        MCP_REMOVE = "mcp/remove", Now, McpRemoveParams => McpRemoveResult,
            [McpServerNotFound, McpReadOnly];
        /// Tells how MCP servers are.
        MCP_STATUS_LIST = "mcp/status/list", Now, EmptyParams => McpStatusListResult;
        /// Starts an MCP server for a moment and counts its tools.
        MCP_TEST = "mcp/test", Now, McpTestParams => McpTestResult, [McpInvalid];

        /// Lists the skills.
        SKILLS_LIST = "skills/list", Now, SkillsListParams => SkillsListResult;
        /// Returns a skill's file as it is.
        SKILLS_READ = "skills/read", Now, SkillParams => SkillsReadResult, [SkillNotFound];
        /// Returns what an agent reads of a skill.
        SKILLS_VIEW = "skills/view", Now, SkillParams => SkillsViewResult, [SkillNotFound];
        /// Takes back the workspace's adaptation of a skill. There are none, so every skill is the original.
        SKILLS_RESTORE_ORIGINAL = "skills/restoreOriginal", Now,
            SkillParams => SkillsRestoreOriginalResult, [SkillNotFound];
        /// Switches a skill on or off in this workspace.
        SKILLS_SET_ENABLED = "skills/setEnabled", Now,
            SkillsSetEnabledParams => SkillsSetEnabledResult, [SkillNotFound];
        /// Removes a skill of the workspace or the user from the disk.
        SKILLS_UNINSTALL = "skills/uninstall", Now, SkillParams => SkillsUninstallResult, [SkillNotFound];

        /// Lists the slash commands.
        COMMAND_LIST = "command/list", Now, CommandListParams => CommandListResult;
        /// Runs a slash command, or returns the text of a custom one.
        COMMAND_EXECUTE = "command/execute", Now, CommandExecuteParams => CommandExecuteResult,
            [ThreadNotFound, CommandNotFound, CommandDenied, CommandServiceMissing];

        /// Suggests a commit message for changed files.
        WORKSPACE_COMMIT_MESSAGE_SUGGEST = "workspace/commitMessage/suggest", Now,
            CommitMessageSuggestParams => CommitMessageSuggestResult, [ThreadNotFound];
        /// Suggests first inputs.
        WELCOME_SUGGESTIONS = "welcome/suggestions", Now,
            WelcomeSuggestionsParams => WelcomeSuggestionsResult;

        /// Lists the models that a Thread can be given.
        MODEL_LIST = "model/list", Now, EmptyParams => ModelListResult;

        /// Extension: the server's counters.
        SERVER_STATS = "server/stats", Now, EmptyParams => ServerStatsResult;
        /// Extension: says what would happen to a command, and which rule decides.
        POLICY_EXPLAIN = "policy/explain", Now, PolicyExplainParams => PolicyExplainResult, [ThreadNotFound];
        /// Extension: lists the rules in force and the answers that were given for ever.
        APPROVAL_RULES_LIST = "approval/rules/list", Now, EmptyParams => ApprovalRulesListResult;
        /// Extension: takes back answers that were given for ever.
        APPROVAL_RULES_REMOVE = "approval/rules/remove", Now,
            ApprovalRulesRemoveParams => ApprovalRulesRemoveResult;
        /// Extension: says what the folder brings along, and what of it counts.
        WORKSPACE_TRUST_GET = "workspace/trust/get", Now, EmptyParams => WorkspaceTrustResult;
        /// Extension: takes the user's word about the folder.
        WORKSPACE_TRUST_SET = "workspace/trust/set", Now, WorkspaceTrustSetParams => WorkspaceTrustResult;
    }

    /// Notifications of a client.
    client_notification: ClientNotification {
        /// Ends the handshake.
        INITIALIZED = "initialized", Now, EmptyParams;
        /// The request of the same name, without an answer: some clients send it so after a reconnect.
        THREAD_SUBSCRIBE = "thread/subscribe", Now, ThreadSubscribeParams;
        /// Gives up a request that is still running.
        CANCEL_REQUEST = "$/cancelRequest", Now, CancelRequestParams;
    }

    /// Notifications of the server.
    notification: Notification {
        /// A Thread was created.
        THREAD_STARTED = "thread/started", Now, ThreadStartedNotification;
        /// A Thread was resumed.
        THREAD_RESUMED = "thread/resumed", Now, ThreadResumedNotification;
        /// A Thread has another title.
        THREAD_RENAMED = "thread/renamed", Now, ThreadRenamedNotification;
        /// A Thread is gone.
        THREAD_DELETED = "thread/deleted", Now, ThreadDeletedNotification;
        /// A Thread was paused, archived, or is active again.
        THREAD_STATUS_CHANGED = "thread/statusChanged", Now, ThreadStatusChangedNotification;
        /// What a Thread is doing has changed.
        THREAD_RUNTIME_CHANGED = "thread/runtimeChanged", Now, ThreadRuntimeChangedNotification;
        /// A Thread's queue has changed.
        THREAD_QUEUE_UPDATED = "thread/queue/updated", Now, ThreadQueueUpdatedNotification;
        /// Extension: Turns were dropped from the end of the conversation.
        THREAD_ROLLED_BACK = "thread/rolledBack", Now, ThreadRolledBackNotification;
        /// Extension: the end of a replay.
        THREAD_SYNCED = "thread/synced", Now, ThreadSyncedNotification;

        /// A Turn began; the user's Item is in it.
        TURN_STARTED = "turn/started", Now, TurnNotification;
        /// A Turn ended well.
        TURN_COMPLETED = "turn/completed", Now, TurnNotification;
        /// A Turn ended by an error.
        TURN_FAILED = "turn/failed", Now, TurnFailedNotification;
        /// A Turn was cancelled.
        TURN_CANCELLED = "turn/cancelled", Now, TurnCancelledNotification;
        /// The Turn has changed files.
        TURN_DIFF_UPDATED = "turn/diff/updated", Now, TurnDiffUpdatedNotification;
        /// Extension: what a Turn did to files was undone.
        TURN_REVERTED = "turn/reverted", Now, TurnRevertedNotification;
        /// A Thread has another plan.
        PLAN_UPDATED = "plan/updated", Now, PlanUpdatedNotification;

        /// An Item was begun.
        ITEM_STARTED = "item/started", Now, ItemNotification;
        /// An Item is final.
        ITEM_COMPLETED = "item/completed", Now, ItemNotification;
        /// A piece of the agent's answer.
        ITEM_AGENT_MESSAGE_DELTA = "item/agentMessage/delta", Now, AgentMessageDeltaNotification;
        /// A piece of the agent's reasoning.
        ITEM_REASONING_DELTA = "item/reasoning/delta", Now, ReasoningDeltaNotification;
        /// A piece of a tool call's arguments.
        ITEM_TOOL_CALL_ARGUMENTS_DELTA = "item/toolCall/argumentsDelta", Now,
            ToolCallArgumentsDeltaNotification;
        /// A piece of a command's output.
        ITEM_COMMAND_EXECUTION_OUTPUT_DELTA = "item/commandExecution/outputDelta", Now,
            CommandOutputDeltaNotification;
        /// An approval is settled; open dialogs about it should close.
        ITEM_APPROVAL_RESOLVED = "item/approval/resolved", Now, ItemNotification;
        /// What a model wanted to know is answered, or nobody waits for it any more; open dialogs should close.
        ITEM_TOOL_REQUEST_USER_INPUT_RESOLVED = "item/tool/requestUserInput/resolved", Now,
            UserInputResolvedNotification;
        /// One call of the model and its tokens.
        ITEM_USAGE_DELTA = "item/usage/delta", Now, UsageDeltaNotification;

        /// The server did something to a conversation.
        SYSTEM_EVENT = "system/event", Now, SystemEventNotification;
        /// A job that the server ran has ended.
        SYSTEM_JOB_RESULT = "system/jobResult", Later, JobResultNotification;
        /// How far the subagents of a Turn are.
        SUBAGENT_PROGRESS = "subagent/progress", Now, SubagentProgressNotification;
        /// The tree of subagents has changed.
        SUBAGENT_GRAPH_CHANGED = "subagent/graphChanged", Now, SubagentGraphChangedNotification;

        /// An MCP server is another way than before.
        MCP_STATUS_UPDATED = "mcp/status/updated", Now, McpStatusUpdatedNotification;
        /// The configuration was changed.
        WORKSPACE_CONFIG_CHANGED = "workspace/configChanged", Now, WorkspaceConfigChangedNotification;
        /// Extension: the user has said something about the folder.
        WORKSPACE_TRUST_CHANGED = "workspace/trustChanged", Now, WorkspaceTrustChangedNotification;

        /// A command went into the background.
        TERMINAL_STARTED = "terminal/started", Now, TerminalNotification;
        /// Output of a background terminal.
        TERMINAL_OUTPUT_DELTA = "terminal/outputDelta", Now, TerminalOutputDeltaNotification;
        /// A background terminal ended.
        TERMINAL_COMPLETED = "terminal/completed", Now, TerminalNotification;
        /// A background terminal has been silent for long.
        TERMINAL_STALLED = "terminal/stalled", Now, TerminalNotification;
        /// A background terminal was removed.
        TERMINAL_CLEANED = "terminal/cleaned", Now, TerminalNotification;
    }

    /// Requests of the server.
    server_request: ServerRequest {
        /// Asks a person. An error or an unknown answer counts as `decline`.
        ITEM_APPROVAL_REQUEST = "item/approval/request", Now,
            ApprovalRequestParams => ApprovalRequestResult;
        /// Runs a tool that the client gave in `thread/start`.
        ITEM_TOOL_CALL = "item/tool/call", Now, ToolCallParams => ToolCallResult;
        /// Asks a person what the model wants to know (a later addition of the protocol). An error counts as no answer.
        ITEM_TOOL_REQUEST_USER_INPUT = "item/tool/requestUserInput", Now,
            RequestUserInputParams => RequestUserInputResult;

        /// Reads a file through the editor.
        EXT_ACP_FS_READ_TEXT_FILE = "ext/acp/fs/readTextFile", Now,
            AcpReadTextFileParams => AcpReadTextFileResult;
        /// Writes a file through the editor.
        EXT_ACP_FS_WRITE_TEXT_FILE = "ext/acp/fs/writeTextFile", Now,
            AcpWriteTextFileParams => AcpWriteTextFileResult;
        /// Runs a command in the editor.
        EXT_ACP_TERMINAL_CREATE = "ext/acp/terminal/create", Now,
            AcpTerminalCreateParams => AcpTerminalCreateResult;
        /// Reads the output of a command in the editor.
        EXT_ACP_TERMINAL_GET_OUTPUT = "ext/acp/terminal/getOutput", Now,
            AcpTerminalParams => AcpTerminalOutputResult;
        /// Waits for a command in the editor.
        EXT_ACP_TERMINAL_WAIT_FOR_EXIT = "ext/acp/terminal/waitForExit", Now,
            AcpTerminalWaitParams => AcpTerminalWaitResult;
        /// Ends a command in the editor.
        EXT_ACP_TERMINAL_KILL = "ext/acp/terminal/kill", Now, AcpTerminalParams => EmptyResult;
        /// Closes a terminal in the editor.
        EXT_ACP_TERMINAL_RELEASE = "ext/acp/terminal/release", Now, AcpTerminalParams => EmptyResult;

        /// Runs JavaScript in the client.
        EXT_NODE_REPL_EVALUATE = "ext/nodeRepl/evaluate", Later,
            NodeReplEvaluateParams => NodeReplEvaluateResult;
        /// Gives up an evaluation.
        EXT_NODE_REPL_CANCEL = "ext/nodeRepl/cancel", Later, NodeReplCancelParams => NodeReplCancelResult;
    }
}
