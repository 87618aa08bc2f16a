// Generated from proto-schema/ by `npm run generate`.

/** Requests that the server carries out once, however often they come with the same `clientRequestId`. */
export const ONCE: ReadonlySet<string> = new Set([
  "thread/start",
  "thread/resume",
  "thread/rename",
  "thread/delete",
  "thread/pause",
  "thread/archive",
  "thread/unarchive",
  "thread/mode/set",
  "thread/config/update",
  "thread/compact/start",
  "thread/maintenance/interrupt",
  "thread/rollback",
  "turn/start",
  "thread/shellCommand",
  "turn/enqueue",
  "turn/interrupt",
  "turn/queue/remove",
  "turn/queue/reorder",
  "turn/queue/update",
  "turn/steer",
  "subagent/sendMessage",
  "subagent/followupTask",
  "subagent/close",
  "subagent/resume",
  "thread/fork",
  "turn/revert",
  "terminal/write",
  "terminal/stop",
  "terminal/clean",
  "mcp/upsert",
  "mcp/remove",
  "command/execute",
  "approval/rules/remove",
  "audit/cut",
  "workspace/trust/set",
  "externalChannel/upsert",
  "externalChannel/remove",
  "channel/send",
  "cron/remove",
  "cron/enable",
  "cron/run",
  "heartbeat/trigger",
  "automation/task/create",
  "automation/task/run",
  "automation/task/delete",
  "automation/task/updateBinding",
  "automation/template/save",
  "automation/template/delete",
  "automation/create",
  "automation/update",
  "automation/delete",
  "automation/run",
  "automation/runs/read",
  "subagent/profiles/upsert",
  "subagent/profiles/setEnabled",
  "subagent/profiles/remove",
  "subagent/settings/update",
  "git/commit",
  "git/apply",
  "git/fetch",
  "git/fastForward",
  "git/push",
  "git/pullRequest",
  "workspace/files/write",
  "worktree/createAndStart",
  "worktree/createAndFork",
  "worktree/apply",
  "worktree/remove",
  "shell/open",
  "alert/test",
]);

/** The codes of {@link RpcError}. */
export const ErrorCode = {
  /** The message is not JSON. The connection stays open. */
  parseError: -32700,
  /** Not a JSON-RPC object, the handshake is incomplete, or the feature is not usable in this workspace. */
  invalidRequest: -32600,
  /** Unknown method, or a family that is not available. */
  methodNotFound: -32601,
  /** Missing or ill-typed members, or a broken constraint. */
  invalidParams: -32602,
  /** Unexpected failure, or a domain rule without its own code. */
  internalError: -32603,
  /** Too many requests in flight; safe to retry. */
  overloaded: -32001,
  /** A request before `initialize`. */
  notInitialized: -32002,
  /** A second `initialize`. */
  alreadyInitialized: -32003,
  /** Extension: the role of the client's user does not cover the method, or a member that the message names. `data.need` is the right that is missing, `data.role` the role. */
  forbidden: -32004,
  /** Unknown Thread; also used for unknown queued inputs and terminal sessions. */
  threadNotFound: -32010,
  /** The Thread is paused or archived where an active one is needed. */
  threadNotActive: -32011,
  /** A Turn is running or waiting for an approval. */
  turnInProgress: -32012,
  /** Unknown Turn. */
  turnNotFound: -32013,
  /** The Turn has already ended. */
  turnNotRunning: -32014,
  /** Reserved: an approval that nobody answered is declined and the Turn goes on. */
  approvalTimeout: -32020,
  /** The channel adapter is unknown or disabled. */
  channelRejected: -32030,
  /** Unknown cron job. */
  cronJobNotFound: -32031,
  /** Unknown skill. */
  skillNotFound: -32040,
  /** Unknown automation task. */
  taskNotFound: -32051,
  /** The task's state does not allow this; the message says why. */
  taskStateInvalid: -32052,
  /** The task's id is taken. */
  taskExists: -32054,
  /** The Thread that a task is bound to is unknown or archived. */
  bindingInvalid: -32055,
  /** The automation has changed since the client read it. */
  automationVersionConflict: -32056,
  /** Unknown command. */
  commandNotFound: -32060,
  /** The command is for administrators. */
  commandDenied: -32061,
  /** The service behind the command is not running. */
  commandServiceMissing: -32062,
  /** Unknown MCP server. */
  mcpServerNotFound: -32070,
  /** The MCP server's configuration is not valid. */
  mcpInvalid: -32072,
  /** Reserved: `mcp/test` reports failures in its result. */
  mcpTestFailed: -32073,
  /** The MCP server's name is taken. */
  mcpNameConflict: -32074,
  /** The MCP server belongs to a plugin. */
  mcpReadOnly: -32075,
  /** Unknown external channel. */
  channelNotFound: -32080,
  /** The external channel's configuration is not valid. */
  channelInvalid: -32081,
  /** The external channel's name is that of a built-in one. */
  channelNameConflict: -32082,
  /** Unknown subagent profile. */
  profileNotFound: -32083,
  /** The subagent profile is not valid. */
  profileInvalid: -32084,
  /** The subagent profile may not be changed in this way. */
  profileProtected: -32085,
} as const;
