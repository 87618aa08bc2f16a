// Generated from proto-schema/ by `npm run generate`.

/** Which editor services a client offers. */
export interface AcpExtensions {
  /** Families of custom methods, `ext/acp/FAMILY/METHOD`. */
  extensions?: string[];
  /** Serves `ext/acp/fs/readTextFile`. */
  fsReadTextFile?: boolean;
  /** Serves `ext/acp/fs/writeTextFile`. */
  fsWriteTextFile?: boolean;
  /** Serves `ext/acp/terminal/*`. */
  terminalCreate?: boolean;
}

/** A person with a role, as records name them. */
export interface ActorInfo {
  /** The paired browser that the person used. Absent with a token. */
  device?: string;
  /** The name, as the owner of the server has given it. */
  name: string;
  /** The role in the workspace at that time. */
  role: Role;
}

/** Whether an agent may start and steer other agents. */
export type AgentControlToolAccess = "disabled" | "full" | "allowList";

/** The agent of the Thread. */
export interface AgentHermesOrigin {
  kind: "agent";
}

/** An Item of the type `agentMessage`. */
export interface AgentMessageItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: TextPayload;
  payloadKind: "agentMessage";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "agentMessage";
}

/** A user's answer. */
export type ApprovalDecision = "accept" | "acceptForSession" | "acceptAlways" | "decline" | "cancel";

/** Kind of operation that needs a user's permission. */
export type ApprovalKind = "shell" | "file" | "remoteResource";

/** How a Thread's Approvals are decided. */
export type ApprovalPolicy = "default" | "ask" | "autoApprove" | "interrupt" | "sandboxed" | "askWrites" | "refuse";

/** An Item of the type `approvalRequest`. */
export interface ApprovalRequestItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: ApprovalRequestPayload;
  payloadKind: "approvalRequest";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "approvalRequest";
}

/** Payload of `approvalRequest`: the user is asked. */
export interface ApprovalRequestPayload {
  /** The kind of operation. */
  approvalType: ApprovalKind;
  /** Extension: the tool call that waits for the answer. */
  callId?: string;
  /** The command line, or what is done to the target. */
  operation: string;
  /** A sentence for the user. */
  reason: string;
  /** Distinguishes approvals across Items. */
  requestId: string;
  /** The scope of `acceptForSession`. */
  scopeKey: string;
  /** Working directory, absolute path, or id of the resource. */
  target: string;
}

/** An Item of the type `approvalResponse`. */
export interface ApprovalResponseItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: ApprovalResponsePayload;
  payloadKind: "approvalResponse";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "approvalResponse";
}

/** Payload of `approvalResponse`: the answer. */
export interface ApprovalResponsePayload {
  /** Extension: the person who answered. Absent for the user of the server, and where nobody answered. */
  actor?: ActorInfo;
  /** Whether the operation may go ahead. */
  approved: boolean;
  /** The answer. */
  decision: ApprovalDecision;
  /** The question. */
  requestId: string;
}

/** An artifact that the server stored. */
export interface ArtifactIdChannelMessageSource {
  /** Its id. */
  artifactId: string;
  kind: "artifactId";
}

/** A stored entry. */
export interface AuditRow {
  /** The entry as JSON, as it was hashed. */
  entry: string;
  /**
   * SHA-256, in hexadecimal digits, of the hash of the entry before, this number and this entry, with a line feed between
   * them.
   */
  hash: string;
  /** Its number, from 1 without gaps. */
  seq: number;
}

/** A prompt that runs by the clock. */
export interface Automation {
  /** As the client gave it; without effect here. */
  agentProfileId?: string;
  /** Its rights. */
  approvalPolicy: AutomationApprovalPolicy;
  /** When it was made. */
  createdAt: string;
  /** The Thread of its runs. */
  executionMode: ExecutionMode;
  /** Its id; a task or a cron job has the same. */
  id: string;
  /** Its name. */
  name: string;
  /** Its next time. */
  nextRunAt?: string;
  /** The ends of runs of which clients notify the user. */
  notificationPolicy: NotificationPolicy;
  /** Of a cron job: the chat from which it comes. */
  origin?: AutomationOrigin;
  /** The input of each run. */
  prompt: string;
  /** When it runs. */
  schedule: AutomationSchedule;
  /** Whether it runs by the clock. */
  status: AutomationStatus;
  /** Of `thread`: the Thread. */
  targetThreadId?: string;
  /** When it last changed. */
  updatedAt: string;
  /** Grows with each change of its definition. */
  version: number;
  /** The folder of its runs. */
  workspaceMode: AutomationWorkspaceMode;
}

/** The rights of an automation. */
export type AutomationApprovalPolicy = "workspaceScope" | "fullAuto";

/** The delivery of the result of a run. */
export type AutomationDeliveryStatus = "pending" | "sent" | "skipped" | "failed";

/** The definition of an automation. */
export interface AutomationInput {
  /** Stored and returned. */
  agentProfileId?: string;
  /** Its rights. */
  approvalPolicy: AutomationApprovalPolicy;
  /** The Thread of its runs. */
  executionMode: ExecutionMode;
  /** Its name, at most 200 characters. */
  name: string;
  /** Default `important` for `thread`, `all` for `independent`. */
  notificationPolicy?: NotificationPolicy;
  /** The input of each run, at most 10,000 characters. */
  prompt: string;
  /** When it runs. */
  schedule: AutomationSchedule;
  /** `active` or `paused`. */
  status: AutomationStatus;
  /** Of `thread`: the Thread. Needed there. */
  targetThreadId?: string;
  /** The folder of its runs. Default `project`. */
  workspaceMode?: AutomationWorkspaceMode;
}

/** The chat from which an automation comes. */
export interface AutomationOrigin {
  /** The channel. */
  channel: string;
  /** The chat that gets the results. */
  deliveryTarget?: string;
  /** The user there. */
  userId: string;
}

/** A definition to start from. */
export interface AutomationPreset {
  /** Its id. */
  id: string;
  /** Its name. */
  name: string;
  /** The input of each run. */
  prompt: string;
  /** When it runs. */
  schedule?: AutomationSchedule;
}

/** A run of an automation. */
export interface AutomationRun {
  /** The automation. */
  automationId: string;
  /** When it ended. */
  completedAt?: string;
  /** When it was requested or due. */
  createdAt: string;
  /** The `version` with which it started. */
  definitionVersion: number;
  /** The delivery of its result. */
  deliveryStatus: AutomationDeliveryStatus;
  /** Why it failed. */
  error?: string;
  /** Its id. */
  id: string;
  /** When its user read of it. */
  readAt?: string;
  /** The time of the schedule at which it started; absent for a run by hand. */
  scheduledAt?: string;
  /** When it started. */
  startedAt?: string;
  /** How far it is. */
  status: AutomationRunStatus;
  /** The agent's last message, at most 500 characters. */
  summary?: string;
  /** Its Thread. */
  threadId?: string;
}

/** How far a run is. */
export type AutomationRunStatus = "queued" | "running" | "succeeded" | "failed" | "cancelled" | "interrupted";

/** When an automation runs. */
export interface AutomationSchedule {
  /** Of `at`: the time. */
  at?: string;
  /** Of `weekly`: 1 (Monday) to 7 (Sunday). */
  days?: number[];
  /** Of `every`: milliseconds between two runs, at least 60,000. */
  everyMs?: number;
  /** Of `daily`, `weekdays` and `weekly`: 0 to 23. */
  hour?: number;
  /** Its kind. */
  kind: AutomationScheduleKind;
  /** Of `daily`, `weekdays` and `weekly`: 0 to 59. Default 0. */
  minute?: number;
  /** Of `daily`, `weekdays` and `weekly`: an IANA time zone. Default UTC. */
  timeZone?: string;
}

/** The kind of an automation's schedule. */
export type AutomationScheduleKind = "at" | "every" | "daily" | "weekdays" | "weekly";

/** Whether an automation runs by the clock. */
export type AutomationStatus = "active" | "paused" | "completed";

/** An automation task. */
export interface AutomationTask {
  /** The agent's last message, or the reason of a failure. */
  agentSummary?: string;
  /** `workspaceScope`, `fullAuto` or `default`. */
  approvalPolicy?: string;
  /** When it was made. */
  createdAt?: string;
  /** Its description. */
  description?: string;
  /** Its id. */
  id: string;
  /** When it is due. */
  nextRunAt?: string;
  /** Extension: a sentence on a time that was left out, an interruption, or why the task is off. */
  note?: string;
  /** When it runs; without one, once. */
  schedule?: JobSchedule;
  /** Its state. */
  status: AutomationTaskStatus;
  /** The Thread that it runs in, in place of its own. */
  threadBinding?: AutomationThreadBinding;
  /** The Thread of its last run. */
  threadId?: string;
  /** Its title. */
  title: string;
  /** When it last changed. */
  updatedAt?: string;
}

/** Status of an automation task. */
export type AutomationTaskStatus = "pending" | "running" | "completed" | "failed";

/** A template of tasks. */
export interface AutomationTemplate {
  /** Its category. */
  category?: string;
  /** When it was written. */
  createdAt?: string;
  /** The default approval policy. */
  defaultApprovalPolicy?: string;
  /** The default description of its tasks. */
  defaultDescription?: string;
  /** The default schedule of its tasks. */
  defaultSchedule?: JobSchedule;
  /** The default title of its tasks. */
  defaultTitle?: string;
  /** The default workspace mode of its tasks. */
  defaultWorkspaceMode?: string;
  /** Its purpose. */
  description?: string;
  /** A picture letter. */
  icon?: string;
  /** Its id. */
  id: string;
  /** Whether its user wrote it. */
  isUser?: boolean;
  /** Whether its tasks want a Thread to run in. */
  needsThreadBinding?: boolean;
  /** Its title. */
  title: string;
  /** When it was last changed. */
  updatedAt?: string;
  /** The workflow of its tasks. */
  workflowMarkdown: string;
}

/** The Thread that a task runs in. */
export interface AutomationThreadBinding {
  /** Always `run-in-thread`. */
  mode?: string;
  /** The Thread. */
  threadId: string;
}

/** The folder of an automation's runs. */
export type AutomationWorkspaceMode = "project" | "worktree";

/** A command that goes on while its Turn does other things. */
export interface BackgroundTerminal {
  /** Why it is in the background. */
  backgroundReason?: string;
  /** The tool call that started it. */
  callId?: string;
  /** The command line. */
  command: string;
  /** When it ended. */
  completedAt?: string;
  /** Its exit code. */
  exitCode?: number;
  /** Length of the whole output. */
  originalOutputChars: number;
  /** The end of its output. */
  output: string;
  /** File with the whole output. */
  outputPath: string;
  /** Its id. */
  sessionId: string;
  /** On what it runs. */
  source: CommandSource;
  /** When it was started. */
  startedAt: string;
  /** How far it is. */
  status: TerminalStatus;
  /** The Thread it belongs to. */
  threadId: string;
  /** Whether `output` was cut. */
  truncated: boolean;
  /** The Turn that started it. */
  turnId?: string;
  /** How long it has been running, milliseconds. */
  wallTimeMs: number;
  /** Where it runs. */
  workingDirectory: string;
}

/** The client's browser runtime. */
export interface BrowserUseCapability {
  /** Which runtime. */
  backend: string;
  /** Its own protocol's version. */
  protocolVersion?: unknown;
  /** Whether `ext/nodeRepl/cancel` may be sent. Default `false`. */
  supportsCancel?: boolean;
}

/** What sort of channel it is, in the order of lists. */
export type ChannelCategory = "builtin" | "social" | "system" | "external";

/** A tool of an adapter that is left out. */
export interface ChannelDiagnostic {
  /** `InvalidChannelToolDescriptor` or `ChannelToolNameConflict`. */
  code: string;
  /** A sentence for the author of the adapter. */
  message: string;
}

/** A channel that Threads may come from. */
export interface ChannelInfo {
  /** What sort of channel it is. */
  category: ChannelCategory;
  /** Its name. */
  name: string;
}

/** A message for a chat. */
export interface ChannelMessage {
  /** The text beside a medium. */
  caption?: string;
  /** The name that the chat shows. */
  fileName?: string;
  /** Its kind. */
  kind: ChannelMessageKind;
  /** The media type. */
  mediaType?: string;
  /** Source of a medium's bytes. */
  source?: ChannelMessageSource;
  /** The text of a text. */
  text?: string;
}

/** Kind of a message for a chat. */
export type ChannelMessageKind = "text" | "file" | "audio" | "image" | "video";

/** Source of a medium's bytes: `kind`, and the one member of that name. */
export type ChannelMessageSource = HostPathChannelMessageSource | UrlChannelMessageSource | DataBase64ChannelMessageSource | ArtifactIdChannelMessageSource;

/** Whether the adapter of a channel runs. */
export type ChannelRuntimeState = "stopped" | "starting" | "running" | "failed";

/** Status of a channel. */
export interface ChannelStatus {
  /** Its kind. */
  category: ChannelCategory;
  /** Extension: the adapter's tools that are left out. */
  diagnostics?: ChannelDiagnostic[];
  /** Whether its adapter may connect or is started. */
  enabled: boolean;
  /** `externalChannelStartFailed` where the server cannot start its adapter. */
  failureCode?: string;
  /** Its name. */
  name: string;
  /** Extension: why its adapter does not run, a sentence for the user. */
  problem?: string;
  /** Whether its adapter is connected. */
  running: boolean;
  /** Whether its adapter runs or starts. */
  runtimeState: ChannelRuntimeState;
}

/** The chat that a call of an adapter's tool is for. */
export interface ChannelToolContext {
  /** The scope of the Thread in the channel. */
  channelContext?: string;
  /** The channel. */
  channelName: string;
  /** The group that it was sent in. */
  groupId?: string;
  /** The sender of the message that started the Turn. */
  senderId?: string;
}

/** What a client can do. Absent keys have the defaults of the protocol. */
export interface ClientCapabilities {
  /** Present when the client serves `ext/acp/*`. */
  acpExtensions?: AcpExtensions;
  /** The version of program bindings that the client knows. Only its presence counts: it shows a client of today. */
  appBindingVersion?: unknown;
  /** Can be asked for approvals. Default `true`. */
  approvalSupport?: boolean;
  /** Wants `terminal/*` notifications. Default `false`. */
  backgroundTerminals?: boolean;
  /** Present when the client has a browser runtime. */
  browserUse?: BrowserUseCapability;
  /** Present when the connection is the backend of an external channel. */
  channelAdapter?: unknown;
  /** Turns started here produce `commandExecution` Items and their output. Default `false`. */
  commandExecutionStreaming?: boolean;
  /** Drives a desktop. */
  computerUse?: unknown;
  /** Wants `workspace/configChanged`. Default `true`. */
  configChange?: boolean;
  /** Extension: wants `seq` on event notifications and may subscribe with `afterSeq`. Default `false`. */
  eventCursors?: boolean;
  /** Extension: what the client can do for further method groups, by name. */
  extensions?: Record<string, unknown>;
  /** Turns started here produce `fileChange` Items. Default `false`. */
  fileChangeItems?: boolean;
  /** Shows drawings inside a conversation. */
  inlineVisualizations?: unknown;
  /** Shows pages of MCP servers. */
  mcpApps?: unknown;
  /**
   * `true`: can be asked by MCP servers (`mcpServer/elicitation/request`). Its presence shows a client of today, as that
   * of the next three.
   */
  mcpElicitation?: unknown;
  /** Present when the client serves `ext/nodeRepl/*`, together with `browserUse`. */
  nodeRepl?: NodeReplCapability;
  /** Exact names of notifications this connection does not want. */
  optOutNotificationMethods?: string[];
  /**
   * Extension: a person starts the Turns of this client and reads along. Where no approval policy is configured, what the
   * sandbox confines runs unasked in them. Default: whether the client is a page, a terminal or a desktop that the server
   * knows, or an editor.
   */
  person?: boolean;
  /** Today's name of `userInputSupport`; does not depend on `approvalSupport`. Default `false`. */
  requestUserInputSupport?: boolean;
  /** Extension: knows the approval policy `sandboxed`; without it, the policy is shown as `default`. Default `false`. */
  sandboxedPolicy?: boolean;
  /** Wants delta notifications. Default `true`. */
  streamingSupport?: boolean;
  /** Turns started here produce `toolExecution` Items, and this client is shown them. Default `false`. */
  toolExecutionLifecycle?: boolean;
  /**
   * Extension: can be asked what a model wants to know (`item/tool/requestUserInput`), together with
   * `approvalSupport`. Default `false`.
   */
  userInputSupport?: boolean;
  /** Extension: shows its user what `workspace/trust/get` lists, and wants `workspace/trustChanged`. Default `false`. */
  workspaceTrust?: boolean;
}

/** A user, through a client. */
export interface ClientHermesOrigin {
  kind: "client";
}

/** Who is connecting. */
export interface ClientInfo {
  /** Machine name of the client. */
  name: string;
  /** Display name. */
  title?: string;
  /** Version of the client. */
  version: string;
}

/** Where a command comes from. */
export type CommandCategory = "builtin" | "custom";

/** An Item of the type `commandExecution`. */
export interface CommandExecutionItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: CommandExecutionPayload;
  payloadKind: "commandExecution";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "commandExecution";
}

/** Payload of `commandExecution`: the terminal view of a tool call. */
export interface CommandExecutionPayload {
  /** All output so far. */
  aggregatedOutput: string;
  /** Why it went into the background. */
  backgroundReason?: string;
  /** The tool call it belongs to. */
  callId?: string;
  /** The command line. */
  command: string;
  /** How long it took, milliseconds. */
  durationMs?: number;
  /** Its exit code. */
  exitCode?: number;
  /** Extension: what confines it, by name, from the outside: `bubblewrap`, `Landlock` with its version, `seccomp`. */
  heldBy?: string[];
  /** Length of the whole output. */
  originalOutputChars?: number;
  /** File with the whole output. */
  outputPath?: string;
  /** The background terminal it went on in. */
  sessionId?: string;
  /** On what it runs. */
  source: CommandSource;
  /** How far it is. */
  status: CommandStatus;
  /** Whether `aggregatedOutput` was cut. */
  truncated?: boolean;
  /** Where it runs. */
  workingDirectory: string;
}

/** A command. */
export interface CommandInfo {
  /** Other names of it. */
  aliases: string[];
  /** Where it comes from. */
  category: CommandCategory;
  /** What it does. */
  description: string;
  /** Its name, with the slash. */
  name: string;
  /** Whether a user of a shared conversation has to be an administrator for it. */
  requiresAdmin: boolean;
}

/** A reference to a custom slash command. */
export interface CommandRefPart {
  /** What follows the name. */
  argsText?: string;
  /** Its name; a leading slash is taken off. */
  name: string;
  /** The line as typed. */
  rawText?: string;
  type: "commandRef";
}

/** On what a command runs. */
export type CommandSource = "host" | "sandbox";

/** State of a command as its terminal view shows it. */
export type CommandStatus = "inProgress" | "completed" | "failed" | "cancelled" | "backgrounded" | "killed" | "lost";

/** How a compaction ended. */
export type CompactOutcome = "partial" | "skipped" | "failed" | "cancelled";

/** How a conversation was compacted. */
export type CompactionMode = "micro" | "partial" | "";

/** One change of a configuration file. */
export interface ConfigEditParams {
  /** The dotted path of the member, such as `Sandbox.Network`. Case does not matter. */
  keyPath: string;
  /** How the value joins the present one. */
  mergeStrategy: ConfigMergeStrategy;
  /** Its value; `null` removes the member, and objects that have no member then. */
  value: unknown;
}

/** One setting. */
export interface ConfigField {
  /** The value that is used if no file sets one. */
  defaultValue?: unknown;
  /** A description for users. */
  hint?: string;
  /** Its name; dots separate the names of objects. */
  key: string;
  /** The greatest number. */
  max?: unknown;
  /** The least number. */
  min?: unknown;
  /** The possible values of a `select`. */
  options?: string[];
  /** When a change takes effect. */
  reload: ConfigReload;
  /** Whether its value is a secret. */
  sensitive: boolean;
  /** How it is entered: `text`, `number`, `bool`, `password`, `select`, `stringList`, `keyValueMap` or `json`. */
  type: string;
  /** Extension: the files' value that is in effect. Left out for settings that may have secrets. */
  value?: unknown;
}

/** A configuration file with its content. */
export interface ConfigFileLayer {
  /** Its content. */
  config: unknown;
  /** The file. */
  name: ConfigLayerName;
  /** Its version. */
  version: string;
}

/** The owner of a configuration file. */
export type ConfigLayerKind = "user" | "workspace";

/** One configuration file. */
export interface ConfigLayerName {
  /** Its path. */
  file: string;
  /** Its owner. */
  type: ConfigLayerKind;
}

/** How a written value joins the present one. */
export type ConfigMergeStrategy = "replace" | "upsert";

/** The file of a value. */
export interface ConfigOrigin {
  /** The file. */
  name: ConfigLayerName;
  /** The version of the file; equal for equal content. */
  version: string;
}

/** The value that counts instead of a written one. */
export interface ConfigOverridden {
  /** The value; `***` replaces secrets. */
  effectiveValue: unknown;
  /** A sentence for the user. */
  message: string;
  /** The file of the value. */
  overridingLayer: ConfigOrigin;
}

/** When a changed setting takes effect. */
export type ConfigReload = "hot" | "processRestart";

/** Settings that belong together. */
export interface ConfigSection {
  /** Its settings. */
  fields: ConfigField[];
  /** Its place among the sections, from 0 on. */
  order: number;
  /** The names that lead to the member of a file that has its settings; absent for the top level. */
  path?: string[];
  /** Its name: `Core` for the top level of a file. */
  section: string;
}

/** Whether a written value counts. */
export type ConfigWriteStatus = "ok" | "okOverridden";

/** How far the life of a connection is. The names are fixed by the peer specification. */
export type ConnectionPhase = "Active" | "ShuttingDown" | "Stopped";

/** One connection's counters. */
export interface ConnectionStats {
  /** Bytes read. */
  bytesRead: number;
  /** Bytes written. */
  bytesWritten: number;
  /** Messages read. */
  messagesRead: number;
  /** Messages written. */
  messagesWritten: number;
  /** The server's requests without an answer yet. */
  pendingOutboundCallCount: number;
  /** How far its life is. */
  phase: ConnectionPhase;
  /** Messages that wait for their handler. */
  queuedInboundCount: number;
  /** Messages that could not be understood. */
  readErrors: number;
  /** The server's requests that were given up lately, whose answers would come late. */
  recentlyTimedOutCallCount: number;
  /** Handlers at work, those of notifications included. */
  runningInboundRequestCount: number;
  /** Whether one of the server's requests without an answer has a deadline. */
  timerArmed: boolean;
  /** Milliseconds since it was opened. */
  uptimeMs: number;
  /** Their bytes. */
  writeQueueBytes: number;
  /** Messages behind the one being written. */
  writeQueueLength: number;
}

/** A piece of what a tool brought back. */
export type ContentItem = TextContent | ImageContentItem;

/** How full the model's window is now. Not what was billed. */
export interface ContextUsage {
  /** From here on the conversation is compacted without being asked. */
  autoCompactThreshold: number;
  /** The window that can be used: the model's, less the reserve for a summary. */
  contextWindow: number;
  /** From here on a client should warn loudly. */
  errorThreshold: number;
  /** Free part of the window, 0.0 to 1.0. */
  percentLeft: number;
  /** Tokens in the window. */
  tokens: number;
  /** From here on a client should warn. */
  warningThreshold: number;
}

/** A cron job. */
export interface CronJobInfo {
  /** When it was made. */
  createdAtMs: number;
  /** Whether it is removed after a run that succeeded. */
  deleteAfterRun: boolean;
  /** Whether it runs by the clock. */
  enabled: boolean;
  /** Eight hex digits. */
  id: string;
  /** Name to show. */
  name: string;
  /** When it runs. */
  schedule: JobSchedule;
  /** Its state. */
  state: CronJobState;
  /** Extension: the policy for a missed time. */
  whenMissed: MissedRun;
  /** Extension: the policy for a time at which the last run goes on. */
  whenRunning: OverlappingRun;
}

/** State of a cron job. */
export interface CronJobState {
  /** Why it failed. */
  lastError?: string;
  /** The agent's last message, at most 500 characters. */
  lastResult?: string;
  /** When its last run ended. */
  lastRunAtMs?: number;
  /** How that ended. */
  lastStatus?: CronRunStatus;
  /** The Thread of that run. */
  lastThreadId?: string;
  /** When it is due. */
  nextRunAtMs?: number;
  /** Extension: a sentence on a time that was left out, an interruption, or why the job is off. */
  note?: string;
  /** Extension: a run of it goes on. */
  running?: boolean;
}

/** How a run ended. */
export type CronRunStatus = "ok" | "error";

/** The bytes. */
export interface DataBase64ChannelMessageSource {
  /** Base64. */
  dataBase64: string;
  kind: "dataBase64";
}

/** A policy that `workspace/config/update` can set. */
export type DefaultApprovalPolicy = "default" | "autoApprove" | "sandboxed" | "automatic" | "askWrites";

/** Why a model is the default. */
export type DefaultModelSource = "nothing" | "key" | "setting";

/** How a user message came into its Turn. */
export type DeliveryMode = "normal" | "queued" | "guidance";

/** What kind of text a delta carries. */
export type DeltaKind = "agentMessage" | "reasoningContent" | "toolCallArguments";

/** A paired browser. */
export interface DeviceInfo {
  /** When it was paired. */
  createdAt: string;
  /** Names it in `device/revoke`. */
  id: string;
  /** Its name. */
  label: string;
  /** When it last connected, to the minute. */
  lastUsedAt: string;
  /** The person whose it is. Absent for the user of the server. */
  person?: string;
}

/** How much a problem matters. */
export type DiagnosticSeverity = "error" | "warning" | "info";

/** How a Turn changed one file. */
export interface DiffFile {
  /** Lines added. */
  additions: number;
  /** Lines removed. */
  deletions: number;
  /** Where a renamed file was. */
  oldPath?: string;
  /** Path relative to the workspace. */
  path: string;
  /** What happened to it. */
  status: DiffFileStatus;
}

/** Kind of change. */
export type DiffFileStatus = "added" | "modified" | "deleted" | "renamed";

/** The uncommitted changes that were copied into a worktree. */
export interface DirtyHandoff {
  /** Files that were copied. */
  copiedFileCount: number;
  /** Files that are deleted in the workspace, and now here too. */
  deletedFileCount: number;
  /** Whether the client asked for them. */
  requested: boolean;
  /** `applied` if there were changes, `clean` if there were none, `skipped` if they were not asked for. */
  status: string;
}

/** The finding of one check. */
export interface DoctorFinding {
  /** How good or bad it is. */
  level: DoctorLevel;
  /** The repair, if there is one. Commands and settings are in backquotes. */
  mend?: string;
  /** The finding, for users. It has no secret in it. */
  message: string;
  /** The subject of the check, in a word or two, as `sandbox` or `MCP server`. */
  subject: string;
}

/** How good or bad a finding is. */
export type DoctorLevel = "ok" | "warning" | "error";

/** The question to the user before a tool is called. */
export interface DynamicToolApproval {
  /** The kind of resource that the tool uses. */
  kind: ApprovalKind;
  /** The operation on the resource; exactly one of this and `operationArgument`. */
  operation?: string;
  /** The argument that names the operation. */
  operationArgument?: string;
  /** The argument that names the resource. */
  targetArgument: string;
}

/** An Item of the type `dynamicToolCall`. */
export interface DynamicToolCallItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: DynamicToolCallPayload;
  payloadKind: "dynamicToolCall";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "dynamicToolCall";
}

/** Payload of `dynamicToolCall`: a tool that a client serves, call and result in one Item. */
export interface DynamicToolCallPayload {
  /** A JSON object. */
  arguments?: unknown;
  /** The call; begins with `dyntool_`. */
  callId: string;
  /** What came back, to show. */
  contentItems?: ContentItem[];
  /** A stable word for what went wrong. */
  errorCode?: string;
  /** What went wrong, as a sentence for the user. */
  errorMessage?: string;
  /** Its group of tools. */
  namespace?: string;
  /** The name under which the model calls the tool: `NAMESPACE__TOOL`, or the tool's alone. */
  providerFlatName: string;
  /** How far it is. */
  status: ToolExecutionStatus;
  /** What came back, for programs. */
  structuredResult?: unknown;
  /** Whether the tool did what it was asked; `false` until it has. */
  success: boolean;
  /** The tool. */
  toolName: string;
}

/** A tool that the client serves through `item/tool/call`. */
export interface DynamicToolSpec {
  /** The question to the user before the tool is called. */
  approval?: DynamicToolApproval;
  /** A hint that the tool need not be offered at once. */
  deferLoading?: boolean;
  /** A description of the tool for the model. */
  description: string;
  /** JSON Schema of the arguments, with `"type": "object"`. */
  inputSchema: unknown;
  /** A legal function name of at most 64 characters. */
  name: string;
  /** Groups tools; same alphabet as `name`. */
  namespace?: string;
}

/** An engine. */
export interface EngineInfo {
  /** The name by which a Thread chooses it. */
  name: string;
  /** Whether it reaches the network. With it, it can send away all that it reads. */
  network: boolean;
  /** Whether it can be chosen: one of the workspace's file waits for trust. */
  trusted: boolean;
}

/** An Item of the type `error`. */
export interface ErrorItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Extension: the payload's `message`, for clients that look for it here. */
  message?: string;
  /** Its content. */
  payload: ErrorPayload;
  payloadKind: "error";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "error";
}

/** Payload of `error`: something went wrong in the Turn. */
export interface ErrorPayload {
  /** A stable word: `agent_error`, `timeout`, `hook_blocked`, `approval_timeout`, `subagent_error`, …. */
  code: string;
  /** Whether the Turn ends with it. */
  fatal: boolean;
  /** What went wrong, as a sentence for the user. */
  message: string;
}

/** The Thread of an automation's runs. */
export type ExecutionMode = "thread" | "independent";

/** An extension. */
export interface ExtensionHermesOrigin {
  /** Its id. */
  extensionId: string;
  kind: "extension";
}

/** Configuration of an external channel. */
export interface ExternalChannelConfig {
  /** Its arguments. */
  args?: string[];
  /** The built-in module that is the adapter, in the place of `command`. */
  builtinModule?: string;
  /** The program of the adapter, unless it connects by itself. */
  command?: string;
  /** Whether its adapter may connect or is started. */
  enabled: boolean;
  /** Variables that are set for it. */
  env?: Record<string, string>;
  /** Its name; compared without case. */
  name: string;
  /** How its adapter connects. */
  transport: ExternalChannelTransport;
  /** Working directory; the workspace when absent. */
  workingDirectory?: string;
}

/** Connection between the server and the adapter of an external channel. */
export type ExternalChannelTransport = "subprocess" | "websocket" | "managedWebsocket";

/** A change to one file. */
export interface FileChange {
  /** Unified diff. */
  diff: string;
  /** What happens to it. */
  kind: FileChangeKind;
  /** Where a renamed file was. */
  oldPath?: string;
  /** The file. */
  path: string;
}

/** An Item of the type `fileChange`. */
export interface FileChangeItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: FileChangePayload;
  payloadKind: "fileChange";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "fileChange";
}

/** What happens to a file. */
export type FileChangeKind = "add" | "modify" | "delete" | "rename";

/** Payload of `fileChange`, only for clients that declared `fileChangeItems`. */
export interface FileChangePayload {
  /** The tool call it belongs to. */
  callId: string;
  /** The files. */
  changes: FileChange[];
  /** How far it is. */
  status: FileChangeStatus;
}

/** How far a change to files is. */
export type FileChangeStatus = "inProgress" | "completed" | "failed" | "declined";

/** A reference to a file. */
export interface FileRefPart {
  /** How to show it. */
  displayPath?: string;
  /** Where it is. */
  path: string;
  type: "fileRef";
}

/** An action of a project. */
export interface FineCodeAction {
  /** Its import path, once a runner has resolved it. */
  canonicalSource?: string;
  /** The environments of its handlers. */
  envs: string[];
  /** Its handlers, in order. */
  handlers: string[];
  /** Its name. */
  name: string;
  /** The directory of its project. */
  projectPath: string;
  /** Its import path, as configured. */
  source: string;
}

/** A directory with a `pyproject.toml`. */
export interface FineCodeProject {
  /** Its name. */
  name: string;
  /** Its directory. */
  path: string;
  /** Errors of its configuration: sentences with file and line. */
  problems: string[];
  /** `valid`, `noConfig`, `invalid` or `untrusted`. */
  status: string;
}

/** The result of a run in one project. */
export interface FineCodeRunResult {
  /**
   * The changes of files whose new texts the result has (`code`), as a unified diff: of those that the payload names, from
   * what they were before the run.
   */
  diff?: string;
  /** Why it failed. */
  error?: string;
  /** The directory of the project. */
  projectPath: string;
  /** The result, of the action's own type. */
  result?: unknown;
  /** 0 if all is well; absent where it is not known. */
  returnCode?: number;
  /** `success`, `streamed`, `stopped`, `no_handlers`, `cancelled` or `failed`. */
  status: string;
  /** The result as text. */
  text?: string;
}

/** The process of a project and an environment. */
export interface FineCodeRunner {
  /** Its environment. */
  env: string;
  /** The path of its log. */
  logFile?: string;
  /** Why it does not run. */
  problem?: string;
  /** The directory of its project. */
  projectPath: string;
  /** `true` for a runner of the agent, which runs in the sandbox of commands. There may be another one for clients. */
  sandboxed?: boolean;
  /** `STOPPED`, `INITIALIZING`, `RUNNING`, `NO_VENV`, `FAILED` or `EXITED`. */
  status: string;
}

/** The time at which a busy subagent gets a task. */
export type FollowupDelivery = "queue" | "steer";

/** A side of a Turn or an Item. */
export type ForkPosition = "after" | "before";

/** A port of a Thread's commands that is reached on the machine's loopback. */
export interface Forward {
  /** Where programs connect, as `127.0.0.1:PORT`. */
  address: string;
  /** Its id. */
  forwardId: string;
  /** The port in the network of the Thread's commands. */
  port: number;
  /** The Thread. */
  threadId: string;
  /** The address for a browser, with an origin of the Thread's own: `http://THREAD.localhost:PORT/`. */
  url: string;
}

/** A Thread in which a text was said. */
export interface FoundThread {
  /** One line of text around the first place where it was said. */
  snippet: string;
  /** The Thread. */
  thread: ThreadSummary;
}

/** A branch. */
export interface GitBranch {
  /** Whether it is checked out. */
  current: boolean;
  /** Its short name, as `main` or `origin/main`. */
  label: string;
  /** Its full name, as `refs/heads/main` or `refs/remotes/origin/main`. */
  name: string;
}

/** A file that has changed since the last commit. */
export interface GitFile {
  /** Its path, relative to the folder. */
  path: string;
  /** Whether a part of the change, or all of it, is staged. */
  staged: boolean;
  /** Its change. */
  state: GitFileState;
}

/** The change of a file. */
export type GitFileState = "added" | "modified" | "deleted" | "untracked" | "conflicted";

/** A program that sends pull requests. */
export type GitPullRequestTool = "gh" | "glab";

/** A button. */
export interface HermesButton {
  /** The command that it runs. */
  command: string;
  /** Buttons of one group are shown together. */
  group?: string;
  /** SVG without scripts, styles and references. Empty if the extension gave none that can be used. */
  icon: string;
  /** Its id. */
  id: string;
  /** Its label. */
  label: string;
}

/** The two answers to a question. */
export type HermesButtons = "yesNo" | "okCancel";

/** Data type of a field. */
export type HermesDataType = "date" | "datetime";

/** A document, without its text. */
export interface HermesDocument {
  /** Whether it differs from its file. */
  dirty: boolean;
  /** The encoding that it is saved in. */
  encoding: string;
  /** Its file. */
  filePath?: string;
  /** Number of steps that can be redone. */
  redoSteps: number;
  /** The Thread. */
  threadId: string;
  /** Number of steps that can be undone. */
  undoSteps: number;
  /** The number of accepted changes. */
  version: number;
}

/** A replacement of a part of the text. */
export interface HermesEdit {
  /** End of the part, in bytes of UTF-8. */
  end: number;
  /** Start of the part, in bytes of UTF-8. */
  start: number;
  /** The text that replaces it. */
  text: string;
}

/** An extension. */
export interface HermesExtension {
  /** Whether it is enabled. */
  enabled: boolean;
  /** Why it failed. */
  error?: string;
  /** Its id. */
  id: string;
  /** Its configured label, or its own name. */
  name: string;
  /** Its program, as configured. */
  path: string;
  /** Its state. */
  state: HermesExtensionState;
  /** Its version, once it has run. */
  version: string;
}

/** State of an extension. */
export type HermesExtensionState = "starting" | "initializing" | "running" | "shuttingDown" | "stopped" | "failed";

/** Schema of a field or component. */
export interface HermesField {
  /** The number of the component. */
  component?: number;
  /** Its data type. */
  datatype?: HermesDataType;
  /** Its number. */
  field: number;
  /** A heading. */
  group?: string;
  /** The largest number of characters. */
  maxlength?: number;
  /** The least number of characters. */
  minlength?: number;
  /** Its name. */
  name?: string;
  /** A remark. */
  note?: string;
  /** A regular expression for the whole value. */
  pattern?: string;
  /** Text that an empty field shows. */
  placeholder?: string;
  /** Whether it must have a value. */
  required?: boolean;
  /** Text that editors offer to start with. */
  template?: string;
  /** Its codes with their meanings. */
  values?: Record<string, string>;
}

/** A kind of files. */
export interface HermesFilter {
  /** Without a dot; `*` is any. */
  extensions: string[];
  /** Its name. */
  name: string;
}

/** Something that does not fit the schema. */
export interface HermesFinding {
  /** The rule that the message breaks, without a value. */
  message: string;
  /** The place; absent for the message as a whole. */
  path?: string;
}

/** An entry of a log. */
export interface HermesLogEntry {
  /** Its severity. */
  level: HermesLogLevel;
  /** The text. It may have data of patients in it. */
  message: string;
  /** Its number, from 1 on. */
  number: number;
  /** When it was written. */
  timestamp: string;
}

/** Severity of an entry. */
export type HermesLogLevel = "error" | "warn" | "info";

/** Author of a change of a document. */
export type HermesOrigin = ClientHermesOrigin | ExtensionHermesOrigin | AgentHermesOrigin;

/** A change of one place. */
export interface HermesPatch {
  /** Creates a segment. Default `false`. */
  create?: boolean;
  /** The place, such as `PID.5.1` or `OBX[2]`. */
  path: string;
  /** Removes a segment, or clears a place. Default `false`. */
  remove?: boolean;
  /** The new value. Without it, the place is cleared. */
  value?: string;
}

/** A patch that was skipped. */
export interface HermesPatchFailure {
  /** Its position, from 0. */
  index: number;
  /** Why. */
  message: string;
  /** Its path. */
  path: string;
}

/** Severity of a message. */
export type HermesSeverity = "info" | "warning" | "error";

/** Layout of a message. */
export type HermesShape = "segments" | "keyed";

/** A button and its extension. */
export interface HermesToolbarButton {
  /** The button. */
  button: HermesButton;
  /** The extension. */
  extensionId: string;
}

/** Which side stores the model's history. */
export type HistoryMode = "server" | "client";

/** Whether the agent waits for a hook. */
export type HookExecution = "sync";

/** A file whose hooks cannot be read. */
export interface HookFileError {
  /** A sentence for the user. */
  message: string;
  /** The file. */
  path?: string;
}

/** The kind of a hook. */
export type HookHandler = "command";

/** A hook: a program that is asked at a moment of a Turn. */
export interface HookInfo {
  /** Always `false`. */
  asyncRewake: boolean;
  /** The command line that runs. */
  command?: string;
  /** `sha256:` and a digest of what would run. */
  currentHash: string;
  /** Its place in this list, from 0. */
  displayOrder: number;
  /** Whether it is switched on, and its plugin enabled. */
  enabled: boolean;
  /** When it is asked, such as `PreToolUse`. */
  eventName: string;
  /** Whether the agent waits for it. */
  executionMode: HookExecution;
  /** Its kind. */
  handlerType: HookHandler;
  /** Always `false`. */
  isManaged: boolean;
  /** Its key for the other methods. */
  key: string;
  /** A regular expression of what it is asked about. Everything when left out. */
  matcher?: string;
  /** Its plugin. */
  pluginId?: string;
  /** Its owner. */
  source: HookSource;
  /** Its file, or the folder of its plugin. */
  sourcePath: string;
  /** Longest time that it may take, in seconds. */
  timeoutSec: number;
  /** Whether the user trusts it as it is now. */
  trustStatus: HookTrust;
}

/** The owner of a hook. */
export type HookSource = "user" | "workspace" | "plugin";

/** Whether the user trusts a hook as it is now. */
export type HookTrust = "trusted" | "untrusted" | "modified";

/** A file of the workspace. */
export interface HostPathChannelMessageSource {
  /** Its path. */
  hostPath: string;
  kind: "hostPath";
}

/** A picture that a tool brought back. */
export interface ImageContent {
  /** The picture, Base64. */
  dataBase64: string;
  /** Its media type. */
  mediaType: string;
}

/** A picture that a tool brought back. */
export interface ImageContentItem {
  /** The picture, Base64. */
  dataBase64: string;
  /** Its media type. */
  mediaType: string;
  type: "image";
}

/** A remote picture, or one that comes as bytes. */
export interface ImagePart {
  /** Extension: how to show a picture that comes as bytes. */
  fileName?: string;
  type: "image";
  /** `http` or `https` address. Extension: a `data:` URL in base64, stored with the Thread as a `localImage`. */
  url: string;
}

/** How a command gets its task. */
export type InputMode = "arg" | "arg-template" | "stdin" | "env";

/** One part of an input. */
export type InputPart = TextPart | CommandRefPart | SkillRefPart | FileRefPart | ImagePart | LocalImagePart;

/**
 * One unit in a Turn.
 *
 * `type` names the Item's type and the shape of `payload`; `payloadKind` has the same value. A client must tolerate
 * types that it does not know.
 */
export type Item = UserMessageItem | AgentMessageItem | ReasoningContentItem | ToolCallItem | ToolResultItem | CommandExecutionItem | ToolExecutionItem | PluginFunctionCallItem | DynamicToolCallItem | ApprovalRequestItem | ApprovalResponseItem | UserInputRequestItem | UserInputResponseItem | ErrorItem | SystemNoticeItem | FileChangeItem;

/** One Item with its Turn. */
export interface ItemOfTurn {
  /** The Item. */
  item: Item;
  /** The Turn. */
  turnId: string;
}

/** How far an Item is. A completed Item never changes. */
export type ItemStatus = "started" | "streaming" | "completed";

/** When a job runs. */
export interface JobSchedule {
  /** Of `at`: when, in Unix milliseconds. */
  atMs?: number;
  /** Of `daily`: 0 to 23. */
  dailyHour?: number;
  /** Of `daily`: 0 to 59. */
  dailyMinute?: number;
  /** Of `every`: milliseconds between two runs, at least 60,000. */
  everyMs?: number;
  /** Extension, of `cron`: minute, hour, day, month, weekday. */
  expr?: string;
  /** Of `every`: milliseconds before the first run, where they are others. */
  initialDelayMs?: number;
  /** `every`, `at`, `daily`, or as an extension `cron`. `once` stands for no schedule. */
  kind: string;
  /** Of `daily` and `cron`: an IANA time zone; UTC where there is none. */
  tz?: string;
}

/** The service that ran a job. */
export type JobSource = "cron" | "heartbeat";

/** Tokens of a job. */
export interface JobTokenUsage {
  /** Tokens sent to the model. */
  inputTokens: number;
  /** Tokens received from it. */
  outputTokens: number;
}

/** Whose Threads are listed. */
export interface ListIdentity {
  /** A free text that distinguishes scopes, as in `group:77`. */
  channelContext?: string;
  /** The channel; must not be blank unless the whole identity is empty. */
  channelName?: string;
  /** The owner inside that channel. */
  userId?: string;
  /** Absolute path; absent or blank means the workspace the server runs in. */
  workspacePath?: string;
}

/** The Threads that a list is about. */
export type ListScope = "identity" | "workspace";

/** A tool of the server. */
export interface ListedTool {
  /** Its purpose, as models read it. */
  description: string;
  /** Always empty: this server has no pictures of tools. */
  icon: string;
  /** Its name, as rules and models use it. */
  name: string;
  /** Whether plan mode has it. */
  planMode: boolean;
  /** Its owner. */
  source: ToolSource;
}

/** A picture on the server's disk. */
export interface LocalImagePart {
  /** How to show it. */
  fileName?: string;
  /** Its media type. */
  mimeType?: string;
  /** Where it is. */
  path: string;
  type: "localImage";
}

/** Logs in memory. */
export interface LogStats {
  /** Their bytes. */
  bytes: number;
  /** Events in memory. */
  frames: number;
}

/** How a user is known at an MCP server. */
export type McpAuthStatus = "unsupported" | "notLoggedIn" | "bearerToken" | "oAuth";

/** A user's decision about a question of an MCP server. */
export type McpElicitationAction = "accept" | "decline" | "cancel";

/** How an MCP server asks. */
export type McpElicitationMode = "form" | "url";

/** Why an MCP server does not run, for programs. */
export type McpFailureReason = "reauthenticationRequired";

/** Whose configuration an MCP server comes from. */
export type McpOriginKind = "workspace" | "plugin" | "user";

/** A prompt of an MCP server. */
export interface McpPrompt {
  /** What it takes, in order. */
  arguments: McpPromptArgument[];
  /** What it is for. */
  description?: string;
  /** Its name, unique on its server. */
  name: string;
  /** The server. */
  server: string;
}

/** What a prompt of an MCP server takes. */
export interface McpPromptArgument {
  /** What it is. */
  description?: string;
  /** Its name. */
  name: string;
  /** Whether it must be given. */
  required: boolean;
}

/** A resource of an MCP server. */
export interface McpResource {
  /** What it is. */
  description?: string;
  /** Its kind. */
  mimeType?: string;
  /** Its name. */
  name: string;
  /** The server. */
  server: string;
  /** Its address, unique on its server. */
  uri: string;
}

/** A resource of an MCP server. */
export interface McpRuntimeResource {
  /** Its description. */
  description?: string;
  /** Its media type. */
  mimeType?: string;
  /** Its name. */
  name: string;
  /** Its address, unique on its server. */
  uri: string;
}

/** A template of the addresses of resources. */
export interface McpRuntimeResourceTemplate {
  /** Its description. */
  description?: string;
  /** The media type of its resources. */
  mimeType?: string;
  /** Its name. */
  name: string;
  /** The template (RFC 6570). */
  uriTemplate: string;
}

/** An MCP server with everything that it offers. */
export interface McpRuntimeServer {
  /** How its user is known there. */
  authStatus: McpAuthStatus;
  /** The plugin's own name for it. */
  declaredName?: string;
  /** Whether it may run. */
  enabled: boolean;
  /** Why it does not run, for programs. */
  failureReason?: McpFailureReason;
  /** The last problem, while it is not ready. */
  lastError?: string;
  /** Its name. */
  name: string;
  /** The file or plugin that it comes from. */
  origin?: McpServerOrigin;
  /** The number of its resources, while it is ready. */
  resourceCount?: number;
  /** The number of its templates, while it is ready. */
  resourceTemplateCount?: number;
  /** Its templates of resources. */
  resourceTemplates: McpRuntimeResourceTemplate[];
  /** Its resources. */
  resources: McpRuntimeResource[];
  /** Its name in methods. */
  runtimeName?: string;
  /** Its own description of itself: `name`, `version` and further members. */
  serverInfo?: unknown;
  /** How far it is, as in `mcp/status/list`. */
  startupState: McpStartupState;
  /** The number of its tools, while it is ready. */
  toolCount?: number;
  /** Its tools, by the server's own names. */
  tools: Record<string, McpRuntimeTool>;
  /** How it is reached. */
  transport: McpTransport;
}

/** A tool of an MCP server. */
export interface McpRuntimeTool {
  /** Its purpose. */
  description?: string;
  /** JSON Schema of its arguments. */
  inputSchema?: unknown;
  /** The server's own name for it. */
  name: string;
  /** JSON Schema of its structured result. */
  outputSchema?: unknown;
}

/** The configuration file of an MCP server. */
export type McpScope = "user" | "workspace";

/** Configuration of an MCP server. Which members belong together follows from `transport`. */
export interface McpServerConfig {
  /** `stdio`: its arguments. */
  args?: string[];
  /** `streamableHttp`: name of the variable with the bearer token. */
  bearerTokenEnvVar?: string;
  /** `stdio`: the program. */
  command?: string;
  /** `stdio`: where it starts. Default: the workspace. */
  cwd?: string;
  /** Whether it may run. Default `true`. */
  enabled?: boolean;
  /** `stdio`: variables that are set for it. */
  env?: Record<string, string>;
  /** `streamableHttp`: headers whose values stand in variables: header to variable name. */
  envHttpHeaders?: Record<string, string>;
  /** `stdio`: names of variables that it gets from the server's environment. */
  envVars?: string[];
  /** `streamableHttp`: headers of every request. */
  httpHeaders?: Record<string, string>;
  /** Its name, compared without case. */
  name: string;
  /** Where it comes from. Written by the server only. */
  origin?: McpServerOrigin;
  /** Whether clients may not change it. Written by the server only. */
  readOnly?: boolean;
  /** How long it may take to start. */
  startupTimeoutSec?: Seconds;
  /** How long a call may take. */
  toolTimeoutSec?: Seconds;
  /** How it is reached. When left out, it follows from `url`. */
  transport?: McpTransport;
  /** `streamableHttp`: its address. */
  url?: string;
}

/** Where an MCP server's configuration comes from. */
export interface McpServerOrigin {
  /** The plugin's own name for the server. */
  declaredName?: string;
  /** Whose it is. */
  kind: McpOriginKind;
  /** The plugin's title. */
  pluginDisplayName?: string;
  /** The plugin. */
  pluginId?: string;
}

/** How an MCP server is. */
export interface McpServerStatus {
  /** Whether it may run. */
  enabled: boolean;
  /** What went wrong last, while it is not ready. */
  lastError?: string;
  /** Its name. */
  name: string;
  /** Where it comes from. */
  origin?: McpServerOrigin;
  /** Whether clients may not change it. */
  readOnly?: boolean;
  /** How many resources it offers. */
  resourceCount?: number;
  /** How many templates of resources it offers. */
  resourceTemplateCount?: number;
  /** How far it is. */
  startupState: McpStartupState;
  /** How many tools it offers. */
  toolCount?: number;
  /** How it is reached. */
  transport: McpTransport;
  /** Extension: `true` where `mcp/login` would help. */
  wantsLogin?: boolean;
}

/** State of a tool server. */
export type McpStartupState = "idle" | "starting" | "ready" | "error" | "disabled";

/** How the start of an MCP server goes. */
export type McpStartupStatus = "starting" | "ready" | "failed" | "cancelled";

/** How much of each server `mcpServerStatus/list` returns. */
export type McpStatusDetail = "full" | "toolsAndAuthOnly";

/** A tool of an MCP server. */
export interface McpTool {
  /** What the server says of it; nobody has checked that. */
  annotations?: McpToolAnnotations;
  /** What it does. */
  description: string;
  /** JSON Schema of its arguments. */
  inputSchema: unknown;
  /** The server's own name for it. */
  name: string;
  /** The name under which models get it, and rules speak of it. */
  offeredAs: string;
  /** The server. */
  server: string;
}

/** What an MCP server says of one of its tools. */
export interface McpToolAnnotations {
  /** Whether it may destroy something. */
  destructiveHint?: boolean;
  /** Whether a second call with the same arguments changes nothing more. */
  idempotentHint?: boolean;
  /** Whether it reaches beyond what the server owns. */
  openWorldHint?: boolean;
  /** Whether it changes nothing. */
  readOnlyHint?: boolean;
  /** Its name for users. */
  title?: string;
}

/** How an MCP server is reached. */
export type McpTransport = "stdio" | "streamableHttp";

/** A picture on the server's disk that came with a message. */
export interface MessageImage {
  /** How to show it. */
  fileName?: string;
  /** Its media type. */
  mimeType?: string;
  /** Its path. */
  path: string;
}

/** Policy for a time that passed while no server ran or the machine slept. */
export type MissedRun = "run" | "skip";

/** A model. */
export interface ModelInfo {
  /** Tokens of its window, if known. */
  contextWindow?: number;
  /** When it was made; 1970 if unknown. */
  createdAt: string;
  /** The id for a Thread's configuration. */
  id: string;
  /** Whether it is the default. Of the models of one provider that has not the default, the first. */
  isDefault: boolean;
  /** Its maker; may be empty. */
  ownedBy: string;
  /** Extension: its price, if a setting has one. */
  price?: ModelPriceInfo;
  /** The protocol that its provider speaks. */
  protocol?: ProviderProtocol;
  /** Its provider's name in settings; absent for the offline model. */
  providerId?: string;
  /** The values of `reasoningEffort` that it accepts. */
  reasoningEfforts?: ReasoningEffort[];
}

/** A problem with a provider. */
export type ModelListErrorCode = "MissingApiKey" | "InvalidEndpoint" | "Unauthorized" | "Forbidden" | "EndpointNotSupported" | "Network" | "Timeout" | "Unknown";

/** Extension: the price of a million tokens, in whole units of the currency. */
export interface ModelPriceInfo {
  /** For those of them that its provider has in a cache. */
  cachedInput: number;
  /** The currency as three letters, such as `EUR`, if a setting names it. */
  currency?: string;
  /** For tokens that the model reads. */
  input: number;
  /** For tokens that it writes. */
  output: number;
}

/** A key and its share. */
export interface MostUsed {
  /** Turns with it. */
  count: number;
  /** Its name. */
  key: string;
  /** All Turns. */
  total: number;
}

/** The client's JavaScript runtime. */
export interface NodeReplCapability {
  /** Which runtime. */
  backend: string;
}

/** The cause of such an action. */
export type NoticeTrigger = "auto" | "reactive" | "manual" | "";

/** The ends of runs of which the user is notified. */
export type NotificationPolicy = "important" | "all" | "failures";

/** The format of a command's output. */
export type OutputFormat = "text" | "json";

/** Policy for a time at which the last run still goes on. */
export type OverlappingRun = "skip";

/** A plan with its to-do list. Empty texts mean "no such part". */
export interface PlanSnapshot {
  /** The plan itself, Markdown. */
  content: string;
  /** A paragraph. */
  overview: string;
  /** One line. */
  title: string;
  /** The steps. */
  todos: PlanTodo[];
}

/** One step. */
export interface PlanTodo {
  /** What to do. */
  content: string;
  /** Id, unique in the plan. */
  id: string;
  /** Priority. */
  priority: TodoPriority;
  /** Progress. */
  status: TodoStatus;
}

/** Something about a plugin that its user should know. */
export interface PluginDiagnostic {
  /** Its code, for programs: `PluginNotTrusted`, `InvalidPluginManifest` and others. */
  code: string;
  /** Its message, for users. */
  message: string;
  /** The file or folder. */
  path?: string;
  /** The plugin. */
  pluginId?: string;
  /** How much it matters. */
  severity: DiagnosticSeverity;
}

/** An Item of the type `pluginFunctionCall`. */
export interface PluginFunctionCallItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: PluginFunctionCallPayload;
  payloadKind: "pluginFunctionCall";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "pluginFunctionCall";
}

/** Payload of `pluginFunctionCall`: a tool of a plugin or channel adapter, call and result in one Item. */
export interface PluginFunctionCallPayload {
  /** A JSON object. */
  arguments?: unknown;
  /** The call. */
  callId: string;
  /** What came back, to show. */
  contentItems?: ContentItem[];
  /** A stable word for what went wrong. */
  errorCode?: string;
  /** What went wrong, as a sentence for the user. */
  errorMessage?: string;
  /** The function. */
  functionName: string;
  /** Its group of functions. */
  namespace?: string;
  /** The plugin. */
  pluginId: string;
  /** What came back, for programs. */
  structuredResult?: unknown;
  /** Whether the function did what it was asked; `false` until it has. */
  success: boolean;
}

/** A hook of a plugin: a program that is asked at a moment of a Turn. */
export interface PluginHook {
  /** The command line that runs. */
  command: string;
  /** When it is asked, such as `PreToolUse`. */
  event: string;
  /** The event, as `event`. */
  eventName: string;
  /** Its key in `hooks/list`. */
  key: string;
  /** A regular expression of what it is asked about. Everything when left out. */
  matcher?: string;
}

/** A plugin. */
export interface PluginInfo {
  /** Always empty: nothing here serves apps of plugins. */
  apps: unknown[];
  /** Its purpose. */
  description?: string;
  /** Its diagnostics, for its user. */
  diagnostics: PluginDiagnostic[];
  /** Its title. */
  displayName: string;
  /** Whether it is to bring something. */
  enabled: boolean;
  /** Always empty: plugins bring tools by MCP servers. */
  functions: unknown[];
  /** Its hooks. `diagnostics` has those that cannot be used. */
  hooks: PluginHook[];
  /** Its id. */
  id: string;
  /** Whether it is in the catalogue and not installed. */
  installable: boolean;
  /** Whether it is installed. */
  installed: boolean;
  /** How it is shown. */
  interface?: PluginInterface;
  /** Always empty: nothing here starts language servers of plugins. */
  lspServers: unknown[];
  /** Its MCP servers. */
  mcpServers: PluginMcpServer[];
  /** Whether `plugin/remove` removes it. */
  removable: boolean;
  /** Its folder; empty if it is not installed. */
  rootPath: string;
  /** Its skills. */
  skills: PluginSkill[];
  /** The place of the plugin. */
  source: PluginSource;
  /** Its version. */
  version?: string;
  /** Always empty: nothing here runs workflows of plugins. */
  workflows: unknown[];
}

/** How a plugin is shown. */
export interface PluginInterface {
  /** Its colour, as `#RRGGBB`. */
  brandColor?: string;
  /** Its capabilities, as its manifest lists them. */
  capabilities: string[];
  /** Its kind. */
  category?: string;
  /** A small picture, at most 512 KiB. */
  composerIconDataUrl?: string;
  /** A first message that uses it. */
  defaultPrompt?: string;
  /** The name of its developer. */
  developerName?: string;
  /** Its title. */
  displayName?: string;
  /** A picture, at most 512 KiB. */
  logoDataUrl?: string;
  /** Its whole description. */
  longDescription?: string;
  /** Its author's page on privacy. */
  privacyPolicyUrl?: string;
  /** Its description in a few words. */
  shortDescription?: string;
  /** Its author's terms. */
  termsOfServiceUrl?: string;
  /** Its page. */
  websiteUrl?: string;
}

/** An MCP server of a plugin. */
export interface PluginMcpServer {
  /** Whether it is among the servers of the workspace. */
  active: boolean;
  /** Whether the plugin declares it enabled. */
  enabled: boolean;
  /** The plugin's name for it. */
  name: string;
  /** Its name in `mcp/list`: `ID:NAME`. */
  runtimeName: string;
  /** The other owner of its name, if that one has precedence. */
  shadowedBy?: PluginShadow;
  /** How it is reached. */
  transport: PluginTransport;
}

/** The outcome of a request that changes a plugin. */
export type PluginOutcome = "applied" | "noChange" | "notApplied";

/** The place of an installed plugin. */
export type PluginScope = "user" | "workspace";

/** The other owner of the name of a plugin's MCP server. */
export type PluginShadow = "workspace";

/** A skill of a plugin. */
export interface PluginSkill {
  /** Its purpose. */
  description: string;
  /** Its name for users. */
  displayName?: string;
  /** Whether agents see it. */
  enabled: boolean;
  /** Its name. */
  name: string;
  /** Its description in a few words. */
  shortDescription?: string;
}

/** The place of a plugin. */
export type PluginSource = "workspace" | "explicit" | "userglobal" | "builtin";

/** How an MCP server of a plugin is reached. */
export type PluginTransport = "stdio" | "streamableHttp";

/** One command of a line. */
export interface PolicyCommand {
  /** Its words, as the shell would see them, joined by spaces; at most 200 characters. */
  command: string;
  /** The judgement of the rules. */
  judgement: PolicyJudgement;
  /** The reason: half a sentence. */
  reason: string;
  /** The rule that decides, if one does. */
  rule?: PolicyRule;
}

/** What rules say of an operation. */
export type PolicyJudgement = "allow" | "ask" | "deny";

/** The outcome of a command. */
export type PolicyOutcome = "runs" | "asks" | "answered" | "autoApproved" | "runsSandboxed" | "interrupts" | "refused";

/** A rule. */
export interface PolicyRule {
  /** The reason, in the words of its author. */
  reason?: string;
  /** The file it is written in. */
  source: string;
  /** The rule in one line. */
  text: string;
}

/** How requests to a provider are authenticated. */
export type ProviderAuth = "apiKey";

/** A provider of models. */
export interface ProviderInfo {
  /** `***` if there is a key. */
  apiKey?: string;
  /** How requests are authenticated. */
  authMethod: ProviderAuth;
  /** Its abilities by name. */
  capabilities: Record<string, boolean>;
  /** Its name for users. */
  displayName: string;
  /** Its address. */
  endPoint: string;
  /** Whether there is a key for it. */
  hasApiKey: boolean;
  /** Its name in settings; its models are `ID/MODEL`. */
  id: string;
  /** Most tokens of one reply. */
  maxOutputTokens?: number;
  /** The protocol that it speaks. */
  protocol: ProviderProtocol;
  /** Longest silence in a reply, in milliseconds. */
  streamIdleTimeoutMs: number;
  /** How often a failed request is repeated. */
  streamMaxRetries: number;
  /** Always `false`. */
  supportsImageGeneration: boolean;
}

/** The protocol that a provider speaks. */
export type ProviderProtocol = "openai-chat-completions" | "openai-responses" | "anthropic";

/** A provider of models. */
export interface ProviderSetting {
  /** Its key. With an address and without a key, an earlier key is removed. */
  apiKey?: string;
  /** Its address. A built-in provider has one, and must have none here. */
  baseUrl?: string;
  /** Its name, in front of those of its models: `anthropic`, `openai`, `openrouter` and `ollama` are built in. */
  name: string;
  /** Its API; `chat` when left out. */
  wire?: ProviderWire;
}

/** The API of a provider. */
export type ProviderWire = "chat" | "responses" | "messages";

/** State of a queue entry. */
export type QueuedInputStatus = "queued" | "guidancePending";

/** One waiting input. */
export interface QueuedTurnInput {
  /** Extension: the person who gave it, as the server has authenticated them. Absent for the user of the server. */
  actor?: ActorInfo;
  /** The client's own id of it. */
  clientUserMessageId?: string;
  /** When it was given. */
  createdAt: string;
  /** One line that sums it up. */
  displayText: string;
  /** Its id. */
  id: string;
  /** As the model gets it. */
  materializedInputParts: InputPart[];
  /** As the user gave it. */
  nativeInputParts: InputPart[];
  /** The Turn that ran then. */
  readyAfterTurnId?: string;
  /** Who gave it. */
  sender?: SenderContext;
  /** Whether it waits for a Turn of its own or for a boundary in the running one. */
  status: QueuedInputStatus;
  /** The Thread it waits in. */
  threadId: string;
}

/** An Item of the type `reasoningContent`. */
export interface ReasoningContentItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: TextPayload;
  payloadKind: "reasoningContent";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "reasoningContent";
}

/** How much a model reasons before it answers, as users choose it. In ascending order. */
export type ReasoningEffort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh";

/** Result of `item/tool/requestUserInput`; without an answer to a question, nobody wants to give one. */
export interface RequestUserInputResult {
  /** By the ids of the questions. */
  answers: Record<string, UserInputAnswer>;
}

/** How a file was restored. */
export type RevertAction = "restored" | "removed";

/** A file that was restored to its state before a Turn. */
export interface RevertedFile {
  /** How it was restored. */
  action: RevertAction;
  /** Path relative to the workspace, absolute for a file outside of it. */
  path: string;
}

/** The role of a person in a workspace, from the least to the most. */
export type Role = "viewer" | "author" | "approver" | "owner";

/** Which files a command may write. */
export type SandboxProfile = "readOnly" | "workspaceWrite" | "full";

/** A time in seconds, whole or not. */
export type Seconds = number;

/** The person behind an input. */
export interface SenderContext {
  /** The group it was said in. */
  groupId?: string;
  /** Id of the user. */
  senderId: string;
  /** Name of the user. */
  senderName: string;
  /** Role of the user. */
  senderRole?: string;
}

/** What the server can do. A key that is absent must be read as `false`, and its methods as unknown. */
export interface ServerCapabilities {
  /** The server may send approval requests. */
  approvalFlow?: boolean;
  /** Extension: `approval/rules/*`. */
  approvalRules?: boolean;
  /** `automation/*`. */
  automations?: boolean;
  /** `terminal/*`. */
  backgroundTerminals?: boolean;
  /** `channel/status`. */
  channelStatus?: boolean;
  /** `command/*`. */
  commandManagement?: boolean;
  /** `thread/config/update`. */
  configOverride?: boolean;
  /** `cron/*`. */
  cronManagement?: boolean;
  /** `thread/resume` takes `dynamicTools`. */
  dynamicToolRebind?: boolean;
  /** Extension: `engine/list`. */
  engines?: boolean;
  /** Extension: the server numbers events for clients that declare `eventCursors`. */
  eventCursors?: boolean;
  /** What smaller extensions there are. */
  extensions?: ServerExtensions;
  /** `externalChannel/*`. */
  externalChannelManagement?: boolean;
  /** `worktree/*`. */
  gitWorktrees?: boolean;
  /** `heartbeat/trigger`. */
  heartbeatManagement?: boolean;
  /** `hooks/*`. */
  hooksManagement?: boolean;
  /** `thread/compact/start`. */
  manualCompaction?: boolean;
  /** The server may send `mcpServer/elicitation/request`. */
  mcpElicitation?: boolean;
  /** `mcp/list`, `mcp/get`, `mcp/upsert`, `mcp/remove`. */
  mcpManagement?: boolean;
  /** `mcpServerStatus/list`, `mcpServer/*`, `config/mcpServer/reload`. */
  mcpRuntime?: boolean;
  /** MCP objects carry `origin` and `readOnly`. */
  mcpServerOrigins?: boolean;
  /** `mcp/status/list`, `mcp/test`, `mcp/status/updated`. */
  mcpStatus?: boolean;
  /** `thread/mode/set`. */
  modeSwitch?: boolean;
  /** `model/list`. */
  modelCatalogManagement?: boolean;
  /** `plugin/*`. */
  pluginManagement?: boolean;
  /** Extension: `policy/explain`. */
  policyExplain?: boolean;
  /** `provider/*`. */
  providerManagement?: boolean;
  /** The server may ask questions of the model. */
  requestUserInput?: boolean;
  /** Extension: `server/stats`. */
  serverStats?: boolean;
  /** `skills/restoreOriginal` and effective `skills/view`. */
  skillVariants?: boolean;
  /** `skills/*`. */
  skillsManagement?: boolean;
  /** `subagent/profiles/*` and `subagent/settings/update`. */
  subAgentManagement?: boolean;
  /** `subagent/children/list`, `sendMessage`, `followupTask`, `close` and `resume`. */
  subAgentSessions?: boolean;
  /** `thread/fork`. */
  threadFork?: boolean;
  /** `thread/maintenance/interrupt`. */
  threadMaintenanceInterrupt?: boolean;
  /** `thread/*`. */
  threadManagement?: boolean;
  /** Extension: `thread/search`. */
  threadSearch?: boolean;
  /** `thread/subscribe` and `thread/unsubscribe`. */
  threadSubscriptions?: boolean;
  /** `tool/list`. */
  toolCatalog?: boolean;
  /** Extension: `turn/revert`. */
  turnRevert?: boolean;
  /** `usage/*` and `profile/insights`. */
  usageTelemetry?: boolean;
  /** `workspace/config/*`. */
  workspaceConfigManagement?: boolean;
  /** Extension: `workspace/trust/*`. */
  workspaceTrust?: boolean;
}

/** Smaller extensions, and the capabilities of further method groups by name. */
export interface ServerExtensions {
  /** `welcome/suggestions`. */
  welcomeSuggestions?: boolean;
  [name: string]: unknown;
}

/** Who answers. */
export interface ServerInfo {
  /** Extension namespaces that are available. */
  extensions?: string[];
  /** Machine name of the server. */
  name: string;
  /** The version of the protocol, one integer as text. */
  protocolVersion: string;
  /** Version of the server. */
  version: string;
}

/** A user of a channel, with the scope and the workspace. */
export interface SessionIdentity {
  /** A free text that distinguishes scopes, as in `group:77`. */
  channelContext?: string;
  /** The channel: `desktop`, `cli`, `telegram`, … Becomes the Thread's `originChannel`. */
  channelName: string;
  /** The owner inside that channel. */
  userId?: string;
  /** Absolute path; absent or blank means the workspace the server runs in. */
  workspacePath?: string;
}

/** A shell of the user in a terminal. */
export interface ShellInfo {
  /** Columns of its terminal. */
  columns: number;
  /** The folder in which it started. */
  cwd: string;
  /** Its id. */
  id: string;
  /** The name of its program, as `zsh`. */
  program: string;
  /** Rows of its terminal. */
  rows: number;
  /** The Thread whose folder that is; absent for the workspace. */
  threadId?: string;
}

/** A skill. */
export interface SkillInfo {
  /** Whether the machine meets its requirements. */
  available: boolean;
  /** A first input that uses it. */
  defaultPrompt?: string;
  /** Its purpose. */
  description: string;
  /** Its name for users. */
  displayName?: string;
  /** Whether agents are offered it. */
  enabled: boolean;
  /** The front matter of the file. */
  metadata?: Record<string, unknown>;
  /** Its directory's name. */
  name: string;
  /** Absolute path of its `SKILL.md`. */
  path: string;
  /** That plugin's title. */
  pluginDisplayName?: string;
  /** The plugin that it comes with. */
  pluginId?: string;
  /** Its description in a few words. */
  shortDescription?: string;
  /** Its owner. */
  source: SkillSource;
  /** The missing requirement. */
  unavailableReason?: string;
}

/** A reference to a skill. */
export interface SkillRefPart {
  /** Its name; a leading dollar sign is taken off. */
  name: string;
  type: "skillRef";
}

/** The owner of a skill. */
export type SkillSource = "workspace" | "plugin" | "builtin" | "user";

/** How often a skill was used. */
export interface SkillUses {
  /** The number of its uses. */
  count: number;
  /** The skill. */
  name: string;
}

/** The order of a list. */
export type SortDirection = "ascending" | "descending";

/** An `acceptAlways` answer: exactly this operation runs without a question. */
export interface StandingAnswer {
  /** Kind of operation. */
  approvalType: ApprovalKind;
  /** Conditions besides the operation: a program with its digest, or that there is no sandbox. */
  conditions?: string[];
  /** Its id for `approval/rules/remove`. */
  id: string;
  /** Command line or file operation, as the question showed it. */
  operation: string;
  /** Working directory or absolute path. */
  target: string;
}

/** The store's counters. */
export interface StoreStats {
  /** Events written since the server started. */
  eventsWritten: number;
  /** Transactions committed since the server started. */
  transactions: number;
  /** Batches that wait for the writer. */
  writeQueueLength: number;
}

/** The place of a subagent's Thread in the tree of Threads. */
export interface SubAgentSource {
  /** Its name. */
  agentNickname?: string;
  /** Its role. */
  agentRole?: string;
  /** Distance from the root; 1 for a direct child. */
  depth: number;
  /** The Thread that started it. */
  parentThreadId: string;
  /** The Turn that started it. */
  parentTurnId?: string;
  /** The profile it runs with. */
  profileName?: string;
  /** The Thread at the top of the tree. */
  rootThreadId: string;
  /** Its runtime. */
  runtimeType?: string;
  /** The tool call that started it. */
  spawnCallId?: string;
  /** Whether it can be closed. */
  supportsClose: boolean;
  /** The same, for `subagent/followupTask`. */
  supportsFollowupTask: boolean;
  /** Whether it can be resumed. */
  supportsResume: boolean;
  /** Whether it takes further input. */
  supportsSendInput: boolean;
  /** The same, under today's name. */
  supportsSendMessage: boolean;
}

/** One subagent of a Thread. */
export interface SubagentChild {
  /** The edge between the two. */
  edge: SubagentEdge;
  /** The subagent's Thread, if requested. */
  thread?: Thread;
}

/** The edge between a subagent and the Thread that started it. An open edge does not mean that the subagent is running. */
export interface SubagentEdge {
  /** Its name. */
  agentNickname?: string;
  /** Its path in the tree: `/root` and the names on the way. Absent in a list without the closed ones. */
  agentPath?: string;
  /** Its role. */
  agentRole?: string;
  /** The Thread that was started. */
  childThreadId: string;
  /** When it was started. */
  createdAt: string;
  /** Steps from the top of the tree, 1 for a direct child. */
  depth: number;
  /** The Thread that started the other. */
  parentThreadId: string;
  /** The Turn that started it. */
  parentTurnId?: string;
  /** The profile it runs with. */
  profileName?: string;
  /** Its runtime. */
  runtimeType?: string;
  /** Open or closed. */
  status: SubagentEdgeStatus;
  /** Whether it can be closed. */
  supportsClose: boolean;
  /** Whether it takes further tasks. */
  supportsFollowupTask: boolean;
  /** Whether it can be opened again. */
  supportsResume: boolean;
  /** Whether it takes further input. */
  supportsSendInput: boolean;
  /** Whether it takes messages. */
  supportsSendMessage: boolean;
  /** Its name in that path. */
  taskName?: string;
  /** When it was opened or closed last. */
  updatedAt: string;
}

/** Whether the parent Thread may give a subagent more to do. */
export type SubagentEdgeStatus = "open" | "closed";

/** A profile that subagents can have. */
export interface SubagentProfile {
  /** The definition of this name that the server brings. */
  builtInDefaults?: SubagentProfileDefinition;
  /** Its definition. */
  definition: SubagentProfileDefinition;
  /** Whether it can be used, and why not. */
  diagnostic: SubagentProfileDiagnostic;
  /** Whether it is switched on. */
  enabled: boolean;
  /** Whether it is in the workspace's configuration. */
  hasWorkspaceOverride: boolean;
  /** Whether the server brings it. */
  isBuiltIn: boolean;
  /** Whether subagents have it that name none. */
  isDefault: boolean;
  /** Whether it has to be completed before it can be used. */
  isTemplate: boolean;
  /** Its name. */
  name: string;
}

/**
 * A profile of subagents: this server's agent with a model, instructions and tools of its own, or the command
 * line of another agent.
 */
export interface SubagentProfileDefinition {
  /** Its arguments, before all others. */
  args?: string[];
  /** `cli-oneshot`: the program. Needed. */
  bin?: string;
  /** Whether that file is removed afterwards. */
  deleteOutputFileAfterRead?: boolean;
  /** Its purpose; the model reads it. */
  description?: string;
  /** `acp`: the engine that runs it, one of `Engines`. Needed. */
  engine?: string;
  /** Variables that are set for it. */
  env?: Record<string, string>;
  /** Variables of the server that it gets although they look like secrets. */
  envPassthrough?: string[];
  /** `arg-template`: arguments with `{task}` in one of them. */
  inputArgTemplate?: string;
  /** `env`: the variable with the task. */
  inputEnvKey?: string;
  /** The format of its task; only text is sent. */
  inputFormat?: string;
  /** How it gets its task. */
  inputMode?: InputMode;
  /** `native`: instructions beside those of every subagent. */
  instructions?: string;
  /** Most bytes of its output that are read; of more, the middle is left out. */
  maxOutputBytes?: number;
  /** `native`: the model, as `PROVIDER/MODEL`. `acp`: a model of that agent. */
  model?: string;
  /** Arguments with `{path}`, a file that it writes its answer to. */
  outputFileArgTemplate?: string;
  /** The format of its output. */
  outputFormat?: OutputFormat;
  /** Place of the count of tokens read. */
  outputInputTokensJsonPath?: string;
  /** `json`: where the answer is in the output, as `result` or `items[0].text`. Needed for `json`. */
  outputJsonPath?: string;
  /** Place of the count of tokens written. */
  outputOutputTokensJsonPath?: string;
  /** Place of their sum, for an agent that counts them together. */
  outputTotalTokensJsonPath?: string;
  /** Arguments for `interactive`, `auto-approve` and `restricted` Threads. */
  permissionModeMapping?: Record<string, string>;
  /** Whether the answer is read from that file. */
  readOutputFile?: boolean;
  /** Arguments with `{sessionId}` that go on with a session. */
  resumeArgTemplate?: string;
  /** Place of the session's id in the output. */
  resumeSessionIdJsonPath?: string;
  /** Finds the session's id in the output: its first group, else all of it. */
  resumeSessionIdRegex?: string;
  /** Its runtime. */
  runtime?: SubagentRuntime;
  /** Without effect here. */
  sanitizationRules?: unknown;
  /** Without effect here. */
  supportsModelSelection?: boolean;
  /** Whether it can go on with a session of its own. */
  supportsResume?: boolean;
  /** Without effect here. */
  supportsStreaming?: boolean;
  /** Seconds after which it is killed. */
  timeout?: number;
  /** `native`: the only tools it has, of those that the Thread has that starts it. */
  toolAllowList?: string[];
  /** `native`: tools it does not have. */
  toolDenyList?: string[];
  /** How far its user trusts it: `trusted` runs outside of the sandbox, each time after its user's approval. */
  trustLevel?: TrustLevel;
  /** Its working directory: the folder of the Thread. */
  workingDirectoryMode?: WorkingDirectoryMode;
}

/** Whether a profile can be used, and why not. */
export interface SubagentProfileDiagnostic {
  /** Whether its program is there. */
  binaryResolved: boolean;
  /** Whether it is switched on. */
  enabled: boolean;
  /** Whether the model is not offered it. */
  hiddenFromPrompt: boolean;
  /** Why the model is not offered it. */
  hiddenReason?: string;
  /** The members of it that have no effect. */
  warnings: string[];
}

/** How far one child is. */
export interface SubagentProgress {
  /** The tool it uses now; `null` while it thinks. */
  currentTool: string | null;
  /** The same, to show. */
  currentToolDisplay?: string;
  /** Tokens sent to the model. */
  inputTokens: number;
  /** Whether it has ended. */
  isCompleted: boolean;
  /** Its name. */
  label: string;
  /** Tokens received from it. */
  outputTokens: number;
}

/** What runs the Turns of a subagent. */
export type SubagentRuntime = "native" | "cli-oneshot" | "acp";

/** The settings of all profiles. */
export interface SubagentSettings {
  /** Whether command lines go on with sessions of their own. */
  externalCliSessionResumeEnabled: boolean;
  /** The model of native subagents whose profile has none. */
  model?: string;
}

/** The state of a subagent after a request. */
export type SubagentTargetStatus = "open" | "closed" | "sent" | "running" | "queued" | "guidancePending";

/** Another Thread's agent. */
export interface SubagentThreadSource {
  kind: "subagent";
  /** Its place in the tree of Threads. */
  subAgent: SubAgentSource;
}

/** How a subscriber gets from where it stopped to the present. */
export type SubscribeMode = "replay" | "snapshot";

/** The kind of a system event. */
export type SystemEventKind = "compactWarning" | "compactError" | "compacting" | "compacted" | "compactSkipped" | "compactFailed" | "consolidating" | "consolidated" | "consolidationSkipped" | "consolidationFailed" | "channelRejected" | "turnResumed" | "workspaceNotTrusted";

/** An Item of the type `systemNotice`. */
export interface SystemNoticeItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: SystemNoticePayload;
  payloadKind: "systemNotice";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "systemNotice";
}

/** An action of the server on a conversation. */
export type SystemNoticeKind = "compacted" | "forked" | "memoryConsolidated";

/** Payload of `systemNotice`: the server did something to the conversation. */
export interface SystemNoticePayload {
  /** How many tool results were emptied. */
  clearedToolResults?: number;
  /** The action. */
  kind: SystemNoticeKind;
  /** How it compacted. */
  mode?: CompactionMode;
  /** Free part of the window after, 0.0 to 1.0. */
  percentLeftAfter?: number;
  /** The Thread that was copied, for `forked`. */
  sourceThreadId?: string;
  /** Tokens in the window after. */
  tokensAfter?: number;
  /** Tokens in the window before. */
  tokensBefore?: number;
  /** The cause. */
  trigger: NoticeTrigger;
}

/** State of a background terminal. */
export type TerminalStatus = "running" | "completed" | "failed" | "killed" | "timedOut" | "lost";

/** Text that a tool brought back. */
export interface TextContent {
  /** The text. */
  text: string;
  type: "text";
}

/** Literal text. */
export interface TextPart {
  /** The text. */
  text: string;
  type: "text";
}

/** Payload of `agentMessage` and `reasoningContent`. */
export interface TextPayload {
  /** The text. */
  text: string;
}

/** A resumable conversation. */
export interface Thread {
  /** The scope it was created in. */
  channelContext?: string;
  /** Its configuration, when it has one. */
  configuration?: ThreadConfiguration;
  /** How full the model's window is, when known. */
  contextUsage?: ContextUsage;
  /**
   * Extension, on `thread/read`: what all its finished Turns cost, with subagents and titles, in the currency of the models'
   * prices. Left out where no price is known.
   */
  cost?: number;
  /** When it was created. */
  createdAt: string;
  /** The same path. */
  cwd: string;
  /** Its title. */
  displayName?: string;
  /** The folder of files, commands and git: the configuration's `workspaceOverride`, the worktree, or the workspace. */
  effectiveWorkspacePath: string;
  /** Whether it is stored nowhere; always `false`. */
  ephemeral: boolean;
  /** The Thread of which it is a copy. */
  forkedFromId?: string;
  /** The supplier of the model's history. */
  historyMode: HistoryMode;
  /** The Thread's id. */
  id: string;
  /** When something last happened in it. */
  lastActiveAt: string;
  /** Free texts; keys that start with `dotcraft.` are reserved. */
  metadata: Record<string, string>;
  /** The channel that created it; never changes. */
  originChannel: string;
  /** On `thread/read`: the current plan or `null`; absent elsewhere. */
  plan?: PlanSnapshot | null;
  /** Inputs that wait for their Turn. */
  queuedInputs: QueuedTurnInput[];
  /** Its present activity. */
  runtime: ThreadRuntime;
  /** The same path, as a list. */
  runtimeWorkspaceRoots: string[];
  /** The same id: a Thread is its own session. */
  sessionId: string;
  /** The starter: a user or another Thread's agent. */
  source: ThreadSource;
  /** Active, paused or archived. */
  status: ThreadStatus;
  /** Its Turns, if the message has them. */
  turns?: Turn[];
  /** Its owner inside the channel. */
  userId?: string;
  /** The workspace it belongs to. */
  workspacePath: string;
  /** Its worktree of git; `null` if it has none. */
  worktree: Worktree | null;
}

/** Configuration of one Thread. Stored and replaced whole. */
export interface ThreadConfiguration {
  /** Whether the agent may start and steer others. */
  agentControlToolAccess?: AgentControlToolAccess;
  /** Appended to the instructions. */
  agentInstructions?: string;
  /** The tools for that, with `allowList`. */
  allowedAgentControlTools?: string[];
  /** How Approvals are decided here. */
  approvalPolicy?: ApprovalPolicy;
  /** Directory of the task, in automation runs. */
  automationTaskDirectory?: string;
  /** Names of further tools. */
  customTools?: string[];
  /** Another agent that runs the Turns of this Thread: the name of an engine of the configuration. */
  engine?: string;
  /** Prefixes of the ACP extensions in use. */
  extensions?: string[];
  /** More MCP servers for this Thread, in the shape of `mcp/upsert`. */
  mcpServers?: unknown[];
  /** `agent` or `plan`. Default `agent`. */
  mode?: string;
  /** Model for this Thread instead of the workspace's. */
  model?: string;
  /** `roleInstructions` replace the base prompt. */
  overrideBasePrompt?: boolean;
  /** A named base prompt, for subagent roles. */
  promptProfile?: string;
  /** How much the model reasons before it answers; by the model when left out. */
  reasoningEffort?: ReasoningEffort;
  /** `true`: ask about paths outside the workspace; `false`: refuse them without asking. */
  requireApprovalOutsideWorkspace?: boolean;
  /** Instructions of the role. */
  roleInstructions?: string;
  /** When given, only these tools are offered. */
  toolAllowList?: string[];
  /** These tools are not offered. */
  toolDenyList?: string[];
  /** A named set of tools. */
  toolProfile?: string;
  /** Offer the tools of `toolProfile` and no others. */
  useToolProfileOnly?: boolean;
  /** Another root for the file tools. */
  workspaceOverride?: string;
  [name: string]: unknown;
}

/** The end of a copied conversation. */
export interface ThreadForkPoint {
  /** The Item in that Turn. Absent: the whole Turn. */
  itemId?: string;
  /** Whether the copy ends before or after it. Default `after`. */
  position?: ForkPosition;
  /** The Turn. */
  turnId: string;
}

/** A Thread's activity, as lists show it. */
export interface ThreadRuntime {
  /** A Turn runs or waits. */
  running: boolean;
  /** At least one Approval is open. */
  waitingOnApproval: boolean;
  /** At least one question of the model is open. */
  waitingOnInput: boolean;
  /** A finished plan waits for the user's confirmation. */
  waitingOnPlanConfirmation: boolean;
}

/** One place where all words were found. */
export interface ThreadSearchHit {
  /** When it was said. */
  createdAt: string;
  /** Its title. */
  displayName?: string;
  /** The Item in it. */
  itemId?: string;
  /** Type of the Item, or `title`. */
  itemType: string;
  /** One line of text around the first word that was found. */
  snippet: string;
  /** The Thread. */
  threadId: string;
  /** A `cursor` for `thread/read` whose page ends with this Turn. */
  turnCursor?: string;
  /** The Turn; absent when the title was found. */
  turnId?: string;
}

/** Result of `thread/search` with `query`: latest first. */
export interface ThreadSearchResult {
  /** Whether everything was searched. `false`: the newest text is still being indexed; ask again in a moment. */
  complete: boolean;
  /** Where it was found. */
  data: ThreadSearchHit[];
  /** Given when there may be more, even if nothing was found yet. */
  nextCursor?: string;
}

/** Result of `thread/search` with `searchTerm`. */
export interface ThreadSearchThreadsResult {
  /** The Threads in order. */
  data: FoundThread[];
  /** Given when there may be more. */
  nextCursor?: string;
}

/** The time by which Threads are ordered. */
export type ThreadSortKey = "createdAt" | "lastActiveAt";

/** The starter of a Thread. */
export type ThreadSource = UserThreadSource | SubagentThreadSource;

/** Status of a Thread. */
export type ThreadStatus = "active" | "paused" | "archived";

/** A Thread in a list. A missing `runtime` means "unknown", not "idle". */
export interface ThreadSummary {
  /** The scope it was created in. */
  channelContext?: string;
  /** When it was created. */
  createdAt: string;
  /** Its title. */
  displayName?: string;
  /** The Thread's id. */
  id: string;
  /** When something last happened in it. */
  lastActiveAt: string;
  /** Free texts. */
  metadata: Record<string, string>;
  /** The channel that created it. */
  originChannel: string;
  /** Its present activity, when known. */
  runtime?: ThreadRuntime;
  /** The starter: a user or another Thread's agent. */
  source: ThreadSource;
  /** Active, paused or archived. */
  status: ThreadStatus;
  /** How many Turns it has. */
  turnCount: number;
  /** Its owner inside the channel. */
  userId?: string;
  /** The workspace it belongs to. */
  workspacePath: string;
}

/** Priority of a step. */
export type TodoPriority = "high" | "medium" | "low";

/** Progress of a step. */
export type TodoStatus = "pending" | "in_progress" | "completed" | "cancelled";

/** Tokens of a whole Turn. */
export interface TokenUsage {
  /** Those of `inputTokens` that the provider had in a cache. */
  cachedInputTokens?: number;
  /** Tokens sent to the model. */
  inputTokens: number;
  /** Tokens received from it. */
  outputTokens: number;
  /** Those of `outputTokens` that are reasoning. */
  reasoningOutputTokens?: number;
  /** Both together. */
  totalTokens: number;
}

/** An Item of the type `toolCall`. */
export interface ToolCallItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: ToolCallPayload;
  payloadKind: "toolCall";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "toolCall";
}

/** Payload of `toolCall`: the model asks for a tool. */
export interface ToolCallPayload {
  /** A JSON object; absent in `item/started` when argument deltas follow. */
  arguments?: unknown;
  /**
   * Extension: what there is of arguments that never became a JSON object, because the call was cut off or the
   * model wrote something else.
   */
  argumentsText?: string;
  /** The call; every Item about it has the same. */
  callId: string;
  /** The name under which the model calls the tool. */
  providerFlatName: string;
  /** The tool. */
  toolName: string;
}

/** An Item of the type `toolExecution`. */
export interface ToolExecutionItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: ToolExecutionPayload;
  payloadKind: "toolExecution";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "toolExecution";
}

/** Payload of `toolExecution`: one call among parallel ones, as it runs. The result is in `toolResult`. */
export interface ToolExecutionPayload {
  /** The call. */
  callId: string;
  /** How long it took, milliseconds. */
  durationMs?: number;
  /** What went wrong. */
  errorMessage?: string;
  /** The beginning of the result, at most 4096 characters. */
  resultPreview?: string;
  /** How far it is. */
  status: ToolExecutionStatus;
  /** Whether the tool did what it was asked. */
  success?: boolean;
  /** The tool. */
  toolName: string;
}

/** State of one call among parallel ones. */
export type ToolExecutionStatus = "inProgress" | "completed" | "failed" | "cancelled";

/** An Item of the type `toolResult`. */
export interface ToolResultItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: ToolResultPayload;
  payloadKind: "toolResult";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "toolResult";
}

/** Payload of `toolResult`: what the model gets back. */
export interface ToolResultPayload {
  /** The call. */
  callId: string;
  /** The name under which the model called the tool. */
  providerFlatName: string;
  /** The text that the model gets. */
  result: string;
  /** Whether the tool did what it was asked. */
  success: boolean;
  /** The tool, as in the call. */
  toolName: string;
}

/** The owner of a tool. */
export type ToolSource = "builtin";

/** What sends an input in a user's place. */
export type TriggerKind = "heartbeat" | "cron" | "automation" | "subagentFollowupTask";

/** An item of a folder that needs trust. */
export interface TrustItem {
  /** Its content, for the user to judge. Written by the author of the folder. */
  detail?: string;
  /** Identifies its content; absent for texts. */
  fingerprint?: string;
  /** The effect of the item. */
  kind: TrustKind;
  /** Its name: `the MCP server pantry`, `Sandbox.Network`, `AGENTS.md`. */
  name: string;
}

/** The effect of an item once it is trusted. */
export type TrustKind = "server" | "setting" | "text";

/** How far the user trusts a command. */
export type TrustLevel = "trusted" | "prompt" | "restricted";

/** One Turn. */
export interface Turn {
  /** When it ended. */
  completedAt?: string;
  /** What it cost, in the currency of the models' prices, where a price is known. */
  cost?: number;
  /** Why it failed, as a sentence for the user. */
  error?: string;
  /** Extension: how many files it changed, by commands too; left out where there is none. */
  filesChanged?: number;
  /** Extension: `true` where these changes were undone with `turn/revert`, and not made again. */
  filesUndone?: boolean;
  /** `turn_` and its number in the Thread. */
  id: string;
  /** Who started this Turn. */
  initiator?: TurnInitiator;
  /** Its Items, where the message carries them. */
  items?: Item[];
  /** The channel that started this Turn. */
  originChannel?: string;
  /** When it started. */
  startedAt: string;
  /** How far it is. */
  status: TurnStatus;
  /** The Thread. */
  threadId: string;
  /** What it used, with the subagents inside the server. */
  tokenUsage?: TokenUsage;
}

/** Who started a Turn. */
export interface TurnInitiator {
  /** The scope. */
  channelContext?: string;
  /** The channel. */
  channelName: string;
  /** The group. */
  groupId?: string;
  /** The user inside it. */
  userId?: string;
  /** What the user is called. */
  userName?: string;
  /** The user's role. */
  userRole?: string;
}

/** The continuation of a list of Turns. */
export interface TurnPage {
  /** The `cursor` for the Turns before these; absent when these are the first. */
  nextCursor?: string;
}

/** Status of a Turn: `running`, `waitingApproval` and `waitingInput` in turns, then exactly one of the others for ever. */
export type TurnStatus = "running" | "waitingApproval" | "waitingInput" | "completed" | "failed" | "cancelled";

/** An address. */
export interface UrlChannelMessageSource {
  kind: "url";
  /** `http` or `https`. */
  url: string;
}

/** One day of a history. */
export interface UsageDay {
  /** The day, `YYYY-MM-DD`. */
  date: string;
  /** The sum. */
  total: number;
  /** The parts by key; those with 0 are left out. */
  values: UsageValue[];
}

/** Key by which a history is divided. */
export type UsageGrouping = "none" | "tokenType" | "surface" | "model" | "reasoning" | "speed" | "toolSource" | "tool" | "skill";

/** Metric of a history. */
export type UsageMetric = "tokens" | "turns" | "requests" | "toolCalls" | "skillUses" | "errors";

/** Usage of the Turns of a Thread with one model. */
export interface UsageOfModel {
  /** The share of read tokens that come from a cache, 0 to 1. */
  cacheHitRate: number;
  /** Tokens read from a cache. */
  cachedInputTokens: number;
  /** Tokens read. */
  inputTokens: number;
  /** The model; absent for the usual one. */
  model?: string;
  /** Tokens written. */
  outputTokens: number;
  /** How much it reasons; absent as usual. */
  reasoningEffort?: string;
  /** Tokens read and written. */
  totalTokens: number;
  /** Number of Turns. */
  turns: number;
}

/** Usage of one Thread. */
export interface UsageOfThread {
  /** Whether it is archived. */
  archived: boolean;
  /** The share of read tokens that come from a cache, 0 to 1. */
  cacheHitRate: number;
  /** Tokens read from a cache. */
  cachedInputTokens: number;
  /** Tokens read. */
  inputTokens: number;
  /** Its latest activity. */
  lastActiveAt: string;
  /** The channel that started it. */
  originChannel: string;
  /** Tokens written. */
  outputTokens: number;
  /** The Thread. */
  threadId: string;
  /** Its title. */
  title?: string;
  /** Tokens read and written. */
  totalTokens: number;
  /** Number of Turns. */
  turns: number;
}

/** A sum with its key. */
export interface UsageSeries {
  /** The key. */
  key: string;
  /** The sum of all days. */
  total: number;
}

/** The unit of a history. */
export type UsageUnit = "tokens" | "count";

/** A number with its key. */
export interface UsageValue {
  /** The key. */
  key: string;
  /** The number. */
  value: number;
}

/** The answer to one question. */
export interface UserInputAnswer {
  /** A label, or what was written. */
  answers: string[];
}

/** One answer to choose. */
export interface UserInputOption {
  /** Its meaning; may be empty. */
  description: string;
  /** The answer. */
  label: string;
}

/** One question. */
export interface UserInputQuestion {
  /** A short label. */
  header: string;
  /** Names its answer. */
  id: string;
  /** Whether anything else may be answered. */
  isOther: boolean;
  /** Whether the answer must not be shown. This server asks for no secret. */
  isSecret: boolean;
  /** Answers to choose from. */
  options: UserInputOption[];
  /** The question. */
  question: string;
}

/** An Item of the type `userInputRequest`. */
export interface UserInputRequestItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: UserInputRequestPayload;
  payloadKind: "userInputRequest";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "userInputRequest";
}

/** Payload of `userInputRequest`: the model asks the user. */
export interface UserInputRequestPayload {
  /** The tool call that asks. */
  callId: string;
  /** Whether the question is part of a plan. */
  isBlocking: boolean;
  /** The questions. */
  questions: UserInputQuestion[];
  /** Distinguishes requests. */
  requestId: string;
}

/** An Item of the type `userInputResponse`. */
export interface UserInputResponseItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: UserInputResponsePayload;
  payloadKind: "userInputResponse";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "userInputResponse";
}

/** Payload of `userInputResponse`: the end of such a question. */
export interface UserInputResponsePayload {
  /** The request. */
  requestId: string;
  /** The answers; none if the question was not answered. */
  response: RequestUserInputResult;
}

/** An Item of the type `userMessage`. */
export interface UserMessageItem {
  /** When it was completed. */
  completedAt?: string;
  /** When it started. */
  createdAt: string;
  /** `item_` and its number in the Turn; unique inside the Turn only. */
  id: string;
  /** Its content. */
  payload: UserMessagePayload;
  payloadKind: "userMessage";
  /** How far it is. */
  status: ItemStatus;
  /** The Turn. */
  turnId: string;
  type: "userMessage";
}

/** Payload of `userMessage`: the input of a user, or of a trigger. */
export interface UserMessagePayload {
  /** Extension: the person who sent it, as the server has authenticated them. Absent for the user of the server. */
  actor?: ActorInfo;
  /** The scope it came from. */
  channelContext?: string;
  /** The channel it came through. */
  channelName?: string;
  /** The client's own id of it. */
  clientUserMessageId?: string;
  /** How it got into the Turn. */
  deliveryMode?: DeliveryMode;
  /** The group it was said in. */
  groupId?: string;
  /** Pictures that came with it. */
  images?: MessageImage[];
  /** As the model got it. */
  materializedInputParts?: InputPart[];
  /** As the user gave it. */
  nativeInputParts?: InputPart[];
  /** Id of the user. */
  senderId?: string;
  /** Name of the user. */
  senderName?: string;
  /** Role of the user. */
  senderRole?: string;
  /** The whole input as one text to show. */
  text: string;
  /** The trigger, if the input came from no user. */
  triggerKind?: TriggerKind;
  /** The name of the trigger. */
  triggerLabel?: string;
  /** Id of the job or task. */
  triggerRefId?: string;
}

/** A user. */
export interface UserThreadSource {
  kind: "user";
}

/** An idea for a first input. */
export interface WelcomeSuggestion {
  /** The input. */
  prompt: string;
  /** Why it might be of use. */
  reason: string;
  /** A short title. */
  title: string;
}

/** Where suggestions came from. */
export type WelcomeSuggestionSource = "dynamic" | "none";

/** The working directory of a profile's command. */
export type WorkingDirectoryMode = "workspace" | "specified";

/** A file or directory of the workspace. */
export interface WorkspaceFile {
  /** Whether it is a directory. */
  isDirectory: boolean;
  /** Its path from the workspace on, for a `fileRef`. */
  path: string;
}

/** An entry of a directory. */
export interface WorkspaceFilesEntry {
  /** Whether ignore files leave it out. */
  ignored: boolean;
  /** Whether it is a directory. */
  isDirectory: boolean;
  /** Its name. */
  name: string;
}

/** A line with the text that was looked for. */
export interface WorkspaceFilesMatch {
  /** The line's number, from 1 on. */
  line: number;
  /** The file, relative to the folder. */
  path: string;
  /** The line, at most its first 300 characters. */
  text: string;
}

/** A worktree of git that the server made for a Thread (AppServer protocol 07 §8.5). */
export interface Worktree {
  /** The commit of that, in hexadecimal. */
  baseHead: string;
  /** The branch, tag or commit that it started from, as it was named. */
  baseRef: string;
  /** The branch that was made with it. */
  branchName: string;
  /** When it was made, in RFC 3339. */
  createdAt: string;
  /** The uncommitted changes that were copied into it. */
  dirtyHandoff?: DirtyHandoff;
  /** The commit that was checked out, in hexadecimal. `worktree/status` has the present one. */
  head: string;
  /** Its id, which names its directory. */
  id: string;
  /** The worktree. */
  path: string;
  /** The Thread that was copied, or the Thread itself. */
  sourceThreadId: string;
  /** The workspace. */
  sourceWorkspacePath: string;
  /** The folder that the Thread works in: the worktree, or the folder in it that corresponds to the workspace. */
  workspacePath: string;
}

/** The state of a worktree at present. */
export interface WorktreeStatus {
  /** Their number. */
  aheadCount: number;
  /** The branch that is checked out; the one that was made with it if that is unknown. */
  branchName: string;
  /** Whether the directory exists. */
  exists: boolean;
  /** Whether there are commits that the commit lacks from which it started. */
  hasCommitsAheadOfBase: boolean;
  /** Whether files have changed since the last commit, or are new. */
  hasUncommittedChanges: boolean;
  /** The commit that is checked out, in hexadecimal. */
  head?: string;
  /** Whether git takes it for a worktree. */
  isGitWorktree: boolean;
  /** Its directory. */
  path: string;
  /** The Thread that it was made for. */
  threadId: string;
  /** The worktree as it was made. */
  worktree: Worktree;
}

/** Params of `initialize`. */
export interface InitializeParams {
  /** What the client can do; fixed for the life of the connection. */
  capabilities?: ClientCapabilities;
  /** Who is connecting. */
  clientInfo: ClientInfo;
}

/** Result of `initialize`. */
export interface InitializeResult {
  /** Extension: the person on whose behalf the client acts, and their role. Absent for the user of the server. */
  actor?: ActorInfo;
  /** What the server can do. */
  capabilities: ServerCapabilities;
  /** Address of the local dashboard when one is served. */
  dashboardUrl?: string;
  /** Who answers. */
  serverInfo: ServerInfo;
}

/** Params of `thread/start`. */
export interface ThreadStartParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Its first configuration. */
  config?: ThreadConfiguration;
  /** Its title; blank means none. */
  displayName?: string;
  /** Tools that this connection serves. */
  dynamicTools?: DynamicToolSpec[];
  /** The supplier of the model's history. Default `server`. */
  historyMode?: HistoryMode;
  /** The starter; `channelName` must not be blank. */
  identity: SessionIdentity;
}

/** Result of `thread/start`, `thread/resume` and `thread/fork`. */
export interface ThreadResult {
  /** Absolute paths of the files whose text the model gets as instructions, outermost first. */
  instructionSources: string[];
  /** The Thread. */
  thread: Thread;
}

/** Params of `thread/resume`. */
export interface ThreadResumeParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Tools that this connection serves instead of the earlier ones. Absent: it serves the earlier ones. */
  dynamicTools?: DynamicToolSpec[];
  /** The Thread. */
  threadId: string;
}

/** Params of `thread/list`. */
export interface ThreadListParams {
  /** Only Threads from this channel, without regard to case. */
  channelName?: string;
  /** Also every Thread of the workspace from these channels. */
  crossChannelOrigins?: string[];
  /** Extension: go on after an earlier answer's `nextCursor`. */
  cursor?: string;
  /**
   * Whose Threads: same workspace, same `channelContext`, same `userId` when there is one. Absent or empty: all Threads
   * of the server's workspace.
   */
  identity?: ListIdentity;
  /** Archived ones too. Default `false`. */
  includeArchived?: boolean;
  /** Threads of subagents too. Default `false`. */
  includeSubAgents?: boolean;
  /** Extension: at most so many, 1 to 100. Absent: all, up to 5,000 an answer. */
  limit?: number;
  /** Extension: only Threads whose title contains this text. */
  query?: string;
  /** `workspace`: all Threads of the identity's workspace. Default `identity`. */
  scope?: ListScope;
}

/** Result of `thread/list`: latest activity first. */
export interface ThreadListResult {
  /** The Threads. */
  data: ThreadSummary[];
  /** Given when there are more, which without `limit` are those beyond 5,000. */
  nextCursor?: string;
  /** How many Threads match, if they are all in this answer. */
  totalMatched?: number;
}

/** Params of `thread/read`. */
export interface ThreadReadParams {
  /** Extension: the Turns before an earlier answer's `turnPage`. */
  cursor?: string;
  /** With its Turns and their Items. Default `false`. */
  includeTurns?: boolean;
  /** The Thread. */
  threadId: string;
  /** Extension: at most so many Turns, the latest ones. Absent: all that fit into an answer. */
  turnLimit?: number;
}

/** Result of `thread/read`. */
export interface ThreadReadResult {
  /** Extension, for clients that declared `eventCursors`: the last event that this answer contains. */
  seq?: number;
  /** The Thread as it is now. */
  thread: Thread;
  /**
   * Extension: the next page. Given with `turnLimit` or `cursor`, and without them if the Turns do not fit into one
   * answer.
   */
  turnPage?: TurnPage;
}

/** Params of `thread/turns/list`. */
export interface ThreadTurnsListParams {
  /** A cursor of an earlier answer about this Thread. Absent: from the end at which the order starts. */
  cursor?: string;
  /** At most so many, 1 to 100. Default 20. */
  limit?: number;
  /** The order. Default `descending`. */
  sortDirection?: SortDirection;
  /** The Thread. */
  threadId: string;
}

/** Result of `thread/turns/list`. A page can have fewer Turns than `limit`. */
export interface ThreadTurnsListResult {
  /** The first Turn of this page, for a list in either order that starts with it. */
  backwardsCursor?: string;
  /** The Turns, without their Items. */
  data: Turn[];
  /** The start of the next page in this order, if there is one. */
  nextCursor?: string;
}

/** Params of `thread/items/list`. */
export interface ThreadItemsListParams {
  /** A cursor of an earlier answer about the same Thread or Turn. */
  cursor?: string;
  /** At most so many, 1 to 500. Default 100. */
  limit?: number;
  /** The order. Default `descending`. */
  sortDirection?: SortDirection;
  /** The Thread. */
  threadId: string;
  /** Only the Items of this Turn. */
  turnId?: string;
}

/** Result of `thread/items/list`. A page can have fewer Items than `limit`. */
export interface ThreadItemsListResult {
  /** The Items, each with its Turn. */
  data: ItemOfTurn[];
  /** The start of the next page in this order, if there is one. */
  nextCursor?: string;
}

/** Params of `thread/subscribe`. */
export interface ThreadSubscribeParams {
  /** Extension: first everything after this event, 0 for everything there is. */
  afterSeq?: number;
  /** First the newest Turn again, from its start. Default `false`. */
  replayRecent?: boolean;
  /** The Thread. */
  threadId: string;
}

/** Result of `thread/subscribe`: empty unless the client declared `eventCursors`. */
export interface ThreadSubscribeResult {
  /** Extension: how the gap from `afterSeq` is closed. */
  mode?: SubscribeMode;
  /** Extension: the last event there is; everything up to it comes before `thread/synced`. */
  seq?: number;
}

/** Params of `thread/unsubscribe`. */
export interface ThreadUnsubscribeParams {
  /** The Thread. */
  threadId: string;
}

/** Result of requests whose success says everything. */
export type EmptyResult = Record<string, unknown>;

/** Params of `thread/rename`. */
export interface ThreadRenameParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The new title; must not be blank. */
  displayName: string;
  /** The Thread. */
  threadId: string;
}

/** Params of `thread/pause`, `thread/archive`, `thread/unarchive` and `thread/delete`. */
export interface ThreadTargetParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The Thread. */
  threadId: string;
}

/** Params of `thread/mode/set`. */
export interface ThreadModeSetParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** `agent` or `plan`. */
  mode: string;
  /** The Thread. */
  threadId: string;
}

/** Params of `thread/config/update`. */
export interface ThreadConfigUpdateParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Replaces the whole configuration. */
  config: ThreadConfiguration;
  /** The Thread. */
  threadId: string;
}

/** Result of `thread/compact/start`. */
export interface ThreadCompactResult {
  /** How full the model's window is now. */
  contextUsage?: ContextUsage;
  /** Why nothing was compacted, as a sentence. */
  message?: string;
  /** How it ended. */
  outcome: CompactOutcome;
}

/** Params of `thread/rollback`. */
export interface ThreadRollbackParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** How many Turns to drop from the end, at least 1. */
  numTurns: number;
  /** The Thread. */
  threadId: string;
}

/** Result of `thread/rollback`. */
export interface ThreadRollbackResult {
  /** The Thread with the Turns that are left. */
  thread: Thread;
  /** Extension, if this answer lacks some of them: the page with which `thread/read` continues. */
  turnPage?: TurnPage;
}

/** Params of messages that have none. */
export type EmptyParams = Record<string, unknown>;

/** Result of `channel/list`: by category, then by name. */
export interface ChannelListResult {
  /** The channels that may appear as `originChannel`. */
  channels: ChannelInfo[];
}

/** Params of `turn/start`. */
export interface TurnStartParams {
  /**
   * Extension: rules that allow in this Turn alone, and in the Turns of its subagents: `tool:NAME`, `path:PATTERN` or a
   * pattern of commands; at most 64. Rules that ask or refuse go on counting. Taken over the socket of the workspace only.
   */
  allow?: string[];
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The client's own id of the input, which comes back in the message and in the queue; at most 128 characters. */
  clientUserMessageId?: string;
  /** At least one part that the server knows. */
  input: InputPart[];
  /** The model's whole history; required in the history mode `client`, forbidden in `server`. */
  messages?: unknown[];
  /** How much the model reasons in this Turn; as the Thread's configuration says when left out. */
  reasoningEffort?: ReasoningEffort;
  /**
   * Extension: what commands of this Turn and of its subagents may reach, in the place of what is configured. Taken over
   * the socket of the workspace only.
   */
  sandbox?: SandboxProfile;
  /** Who says it. */
  sender?: SenderContext;
  /** An active Thread without a running Turn. */
  threadId: string;
}

/** Result of `turn/start`. */
export interface TurnStartResult {
  /** The Turn, running, with an empty list of Items. */
  turn: Turn;
}

/** Params of `thread/shellCommand`. */
export interface ThreadShellCommandParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The command line that the user typed; at most 65,536 bytes. */
  command: string;
  /** An active Thread without a running Turn. */
  threadId: string;
}

/** Params of `turn/enqueue`. */
export interface TurnEnqueueParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The client's own id of the input, which comes back in the message and in the queue; at most 128 characters. */
  clientUserMessageId?: string;
  /** At least one part that the server knows. */
  input: InputPart[];
  /** Who says it. */
  sender?: SenderContext;
  /** An active Thread. */
  threadId: string;
}

/** Result of `turn/enqueue`. */
export interface TurnEnqueueResult {
  /** The new entry. */
  queuedInput: QueuedTurnInput;
  /** The whole queue. */
  queuedInputs: QueuedTurnInput[];
}

/** Params of `turn/interrupt`. */
export interface TurnInterruptParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The Thread. */
  threadId: string;
  /** The Turn; empty for the one that runs. */
  turnId: string;
}

/** Params of `turn/queue/remove`. */
export interface TurnQueueRemoveParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The entry to take out. */
  queuedInputId: string;
  /** The Thread. */
  threadId: string;
}

/** Result of `turn/queue/remove`, `turn/queue/reorder` and `turn/queue/update`. */
export interface TurnQueueResult {
  /** The whole queue. */
  queuedInputs: QueuedTurnInput[];
}

/** Params of `turn/queue/reorder`. */
export interface TurnQueueReorderParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The new order: each entry of the queue once. */
  orderedQueuedInputIds: string[];
  /** The Thread. */
  threadId: string;
}

/** Params of `turn/queue/update`. */
export interface TurnQueueUpdateParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The running Turn; for `queued`, the Turn that the entry is bound to. */
  expectedTurnId: string;
  /** The entry. */
  queuedInputId: string;
  /** `guidancePending` gives the entry to the running Turn, `queued` takes it back. */
  status: QueuedInputStatus;
  /** The Thread. */
  threadId: string;
}

/** Params of `turn/steer`. */
export interface TurnSteerParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The client's own id of a new input, which comes back in the message and in the queue; at most 128 characters. */
  clientUserMessageId?: string;
  /** Must be the running Turn. */
  expectedTurnId: string;
  /** A new input. If the Turn ends first, it waits in the queue. */
  input?: InputPart[];
  /** An entry with the status `queued`. Either this or `input` is required. */
  queuedInputId?: string;
  /** The sender; replaces the stored sender of an entry. */
  sender?: SenderContext;
  /** The Thread. */
  threadId: string;
}

/** Result of `turn/steer`. */
export interface TurnSteerResult {
  /** The whole queue. */
  queuedInputs: QueuedTurnInput[];
  /** The running Turn. */
  turnId: string;
}

/** Params of `subagent/children/list`. */
export interface SubagentChildrenListParams {
  /** Those with a closed edge too. Default `false`. */
  includeClosed?: boolean;
  /** Their Threads too. Default `false`. */
  includeThreads?: boolean;
  /** The Thread whose subagents are wanted. */
  parentThreadId: string;
}

/** Result of `subagent/children/list`. */
export interface SubagentChildrenListResult {
  /** The subagents, oldest first. */
  data: SubagentChild[];
}

/** Params of `subagent/sendMessage`. */
export interface SubagentMessageParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The message. The subagent reads it before its next model call; it starts nothing. */
  message: string;
  /** The Thread from which `target` leads. */
  parentThreadId: string;
  /** The path of the subagent, as `/root/scout`, or from the parent, as `scout`; or the id of its Thread. */
  target: string;
}

/** Result of a request about one subagent. */
export interface SubagentTargetResult {
  /** Its name. */
  agentNickname?: string;
  /** Its path in the tree, where `target` named it. */
  agentPath?: string;
  /** Its role. */
  agentRole?: string;
  /** The subagent. */
  childThreadId: string;
  /** A note for the user. */
  message?: string;
  /** The profile it runs with. */
  profileName?: string;
  /** Its runtime. */
  runtimeType?: string;
  /** Its state after the request. */
  status: SubagentTargetStatus;
  /** Whether it can be closed. */
  supportsClose: boolean;
  /** Whether it takes further tasks. */
  supportsFollowupTask: boolean;
  /** Whether it can be opened again. */
  supportsResume: boolean;
  /** Whether it takes further input. */
  supportsSendInput: boolean;
  /** Whether it takes messages. */
  supportsSendMessage: boolean;
  /** Its name in that path. */
  taskName?: string;
}

/** Params of `subagent/followupTask`. */
export interface SubagentFollowupParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The time at which a busy subagent gets it. Default `queue`. */
  deliveryMode?: FollowupDelivery;
  /** The task. An idle subagent starts with it at once. */
  message: string;
  /** The Thread from which `target` leads. */
  parentThreadId: string;
  /** The path of the subagent, as `/root/scout`, or from the parent, as `scout`; or the id of its Thread. */
  target: string;
}

/** Params of `subagent/close`: with `target` or with `childThreadId`. */
export interface SubagentCloseParams {
  /** The Thread that was started. */
  childThreadId?: string;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The Thread that started the other, or one from which `target` leads. */
  parentThreadId: string;
  /** The path of the subagent, as `/root/scout`, or from the parent, as `scout`; or the id of its Thread. */
  target?: string;
}

/** Params of `subagent/resume`. */
export interface SubagentTargetParams {
  /** The Thread that was started. */
  childThreadId: string;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The Thread that started the other. */
  parentThreadId: string;
}

/** Params of `thread/search`: with `searchTerm`, or with `query` and `identity`. */
export interface ThreadSearchParams {
  /** With `searchTerm`: archived Threads instead of all others. Default `false`. */
  archived?: boolean;
  /** Also every Thread of the workspace from these channels. */
  crossChannelOrigins?: string[];
  /** Go on after an earlier answer's `nextCursor`. */
  cursor?: string;
  /** Extension, with `query`: whose Threads, as in `thread/list`. */
  identity?: SessionIdentity;
  /** Archived Threads too. Default `false`. */
  includeArchived?: boolean;
  /** Only in Items of these types, and in titles for `title`. Absent: everywhere. */
  itemTypes?: string[];
  /** At most so many, 1 to 100. Default 50 with `searchTerm`, else 20. */
  limit?: number;
  /**
   * Extension: words that must all be found, parts of words and whatever case. Words between double quotes stay
   * together; words of fewer than three characters do not count, nor do any after the eighth.
   */
  query?: string;
  /** The text that users or agents said, whatever case. The result has Threads then. */
  searchTerm?: string;
  /** With `searchTerm`: its direction. Default `descending`. */
  sortDirection?: SortDirection;
  /** With `searchTerm`: the order. Default `createdAt`. */
  sortKey?: ThreadSortKey;
  /** Only in this Thread. */
  threadId?: string;
}

/** Result of `thread/search`. */
export type ThreadSearchAnswer = ThreadSearchResult | ThreadSearchThreadsResult;

/** Params of `thread/fork`. */
export interface ThreadForkParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Its configuration. Default: the original's. */
  config?: ThreadConfiguration;
  /** Its title. Default: the original's with a count. */
  displayName?: string;
  /** Tools that this connection serves. */
  dynamicTools?: DynamicToolSpec[];
  /** `true` is refused: every Thread is stored. */
  ephemeral?: boolean;
  /** The end of the copy. Absent without `turnId`: after the newest Turn. A running Turn is copied as cancelled. */
  forkPoint?: ThreadForkPoint;
  /** Its starter. Default: the original's. */
  identity?: SessionIdentity;
  /** The Thread. */
  threadId: string;
  /** Extension: the last Turn of the copy. It has ended. Not together with `forkPoint`. */
  turnId?: string;
}

/** Params of `turn/revert`. */
export interface TurnRevertParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /**
   * Whether files that have been changed since are put back too, and what was done to them is lost. Left out:
   * nothing is done then, and the error names them.
   */
  force?: boolean;
  /**
   * Whether the Turn's changes are made again, which were undone before. Refused as an undo is where files have been changed
   * since. Default `false`.
   */
  redo?: boolean;
  /** A Thread in which no Turn runs. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Result of `turn/revert`. */
export interface TurnRevertResult {
  /** The files that were put back; those that were as before anyway are left out. */
  files: RevertedFile[];
  /** What the Turn may have changed that was not restored, as sentences. */
  notes?: string[];
  /** The Turn. */
  turnId: string;
}

/** Params of `turn/diff/read`. */
export interface TurnDiffReadParams {
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Result of `turn/diff/read`: what the last `turn/diff/updated` of the Turn said. */
export interface TurnDiffReadResult {
  /** Unified diff of all changes, git style, paths relative to the workspace; empty when nothing changed. */
  diff: string;
  /** The changed files; complete even when `diff` was cut. */
  files: DiffFile[];
  /** Whether `diff` was cut. */
  truncated: boolean;
}

/** Parameters of `turn/picture/read`. */
export interface TurnPictureReadParams {
  /** The `path` of a `localImage` that was handed in as bytes. */
  path: string;
  /** The Thread. */
  threadId: string;
}

/** Result of `turn/picture/read`. */
export interface TurnPictureReadResult {
  /** Its bytes. */
  dataBase64: string;
  /** Its media type, by its bytes. */
  mediaType: string;
}

/** Params of `terminal/list`. */
export interface TerminalListParams {
  /** Only those of this Thread. */
  threadId?: string;
}

/** Result of `terminal/list`, and of `terminal/clean` with those that were removed. */
export interface TerminalsResult {
  /** The terminals. */
  terminals: BackgroundTerminal[];
}

/** Params of `terminal/read`. */
export interface TerminalReadParams {
  /** At most so much of the output. */
  maxOutputChars?: number;
  /** The terminal. */
  sessionId: string;
  /** Wait so long for news, milliseconds. */
  waitMs?: number;
}

/** Result of `terminal/read`, `terminal/write` and `terminal/stop`. */
export interface TerminalResult {
  /** The terminal as it is now. */
  terminal: BackgroundTerminal;
}

/** Params of `terminal/write`. */
export interface TerminalWriteParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** What to type. */
  input: string;
  /** At most so much of the output. */
  maxOutputChars?: number;
  /** The terminal. */
  sessionId: string;
  /** Wait so long for the output, milliseconds. Default 1000. */
  yieldTimeMs?: number;
}

/** Params of `terminal/stop`. */
export interface TerminalStopParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The terminal. */
  sessionId: string;
}

/** Params of `terminal/clean`. */
export interface TerminalCleanParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The Thread whose terminals go. */
  threadId: string;
}

/** Params of `forward/start`. */
export interface ForwardStartParams {
  /** The port that a command of the Thread listens on, now or later. */
  port: number;
  /** The Thread. */
  threadId: string;
  /** The port on the machine. Default: the same, or a free one if that is taken, or is or was that of a Bobbin page. */
  to?: number;
}

/** Result of `forward/start`. */
export interface ForwardResult {
  /** The forward. */
  forward: Forward;
}

/** Params of `forward/list`. */
export interface ForwardListParams {
  /** Only those of this Thread. */
  threadId?: string;
}

/** Result of `forward/list`. */
export interface ForwardListResult {
  /** The forwards. */
  forwards: Forward[];
}

/** Params of `forward/stop`. */
export interface ForwardStopParams {
  /** The forward. */
  forwardId: string;
}

/** Result of `forward/stop`. */
export interface ForwardStopResult {
  /** Whether there was one. */
  stopped: boolean;
}

/** Result of `mcp/list`. */
export interface McpListResult {
  /** The servers in effect. */
  servers: McpServerConfig[];
}

/** Params of `mcp/get`. */
export interface McpGetParams {
  /** The server. */
  name: string;
}

/** Result of `mcp/get` and `mcp/upsert`. */
export interface McpServerResult {
  /** The server as it is stored. */
  server: McpServerConfig;
}

/** Params of `mcp/upsert`. */
export interface McpUpsertParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The file. Default: the workspace's, unless the user's own file has a server of this name. */
  scope?: McpScope;
  /** The whole entry. */
  server: McpServerConfig;
}

/** Params of `mcp/remove`. */
export interface McpRemoveParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The server. */
  name: string;
  /** The file. Default: the workspace's. */
  scope?: McpScope;
}

/** Result of `mcp/remove`. */
export interface McpRemoveResult {
  /** Always `true`. */
  removed: boolean;
}

/** Result of `mcp/status/list`. */
export interface McpStatusListResult {
  /** The servers, by name. */
  servers: McpServerStatus[];
}

/** Params of `mcp/test`. */
export interface McpTestParams {
  /** The server to try; nothing of it is stored. */
  server: McpServerConfig;
}

/** Result of `mcp/test`. */
export interface McpTestResult {
  /** `McpServerTestFailed`. */
  errorCode?: string;
  /** What went wrong, as a sentence for the user. */
  errorMessage?: string;
  /** Whether it could be started. */
  success: boolean;
  /** How many tools it offers. */
  toolCount?: number;
}

/** Params of `mcp/login` and `mcp/logout`. */
export interface McpLoginParams {
  /** The server. */
  name: string;
}

/** Result of `mcp/login`. */
export interface McpLoginResult {
  /** The page that the user opens, in a browser on the machine of this server. */
  url: string;
}

/** Result of `mcp/logout`. */
export interface McpLogoutResult {
  /** Whether the user was logged in. */
  removed: boolean;
}

/** Params of `mcp/tool/list`, `mcp/resource/list` and `mcp/prompt/list`. */
export interface McpPageParams {
  /** `nextCursor` of the page before. */
  cursor?: string;
  /** Most entries of the page. Default 100, at most 256. */
  limit?: number;
  /** The server; all when left out. */
  server?: string;
}

/** Result of `mcp/tool/list`. */
export interface McpToolListResult {
  /** Where the next page begins; absent on the last. */
  nextCursor?: string;
  /** The tools, by server. */
  tools: McpTool[];
}

/** Result of `mcp/resource/list`. */
export interface McpResourceListResult {
  /** Where the next page begins; absent on the last. */
  nextCursor?: string;
  /** The resources, by server. */
  resources: McpResource[];
}

/** Params of `mcp/resource/read`. */
export interface McpResourceReadParams {
  /** The server. */
  server: string;
  /** The resource. */
  uri: string;
}

/** Result of `mcp/resource/read` and `mcp/prompt/get`. */
export interface McpTextResult {
  /** The text, at most 128 KiB; a longer one loses its middle. */
  text: string;
}

/** Result of `mcp/prompt/list`. */
export interface McpPromptListResult {
  /** Where the next page begins; absent on the last. */
  nextCursor?: string;
  /** The prompts, by server. */
  prompts: McpPrompt[];
}

/** Params of `mcp/prompt/get`. */
export interface McpPromptGetParams {
  /** The values of its arguments. */
  arguments?: Record<string, string>;
  /** The prompt. */
  name: string;
  /** The server. */
  server: string;
}

/** Params of `mcpServerStatus/list`. */
export interface McpServerStatusListParams {
  /** `nextCursor` of the page before. */
  cursor?: string;
  /** How much of each server is returned. Default `full`. */
  detail?: McpStatusDetail;
  /** Most servers of the page, 1 to 100. Default 100. */
  limit?: number;
  /** A Thread. Every Thread has the servers of the workspace. */
  threadId?: string;
}

/** Result of `mcpServerStatus/list`. */
export interface McpServerStatusListResult {
  /** The servers, by name. */
  data: McpRuntimeServer[];
  /** The cursor of the next page; `null` on the last. */
  nextCursor: string | null;
}

/** Params of `mcpServer/tool/call`. */
export interface McpServerToolCallParams {
  /** An object that goes with the call. */
  _meta?: unknown;
  /** The arguments, an object. */
  arguments?: unknown;
  /** The server. */
  server: string;
  /** The Thread whose rules and policy count. */
  threadId: string;
  /** The server's own name of the tool. */
  tool: string;
}

/** Result of `mcpServer/tool/call`: the MCP server's own answer, with all its members. */
export interface McpServerToolCallResult {
  /** What the server says beside it. */
  _meta?: unknown;
  /** The content, as MCP has it. */
  content: unknown[];
  /** Whether the call failed or was refused. */
  isError?: boolean;
  /** The structured result. */
  structuredContent?: unknown;
}

/** Params of `mcpServer/resource/read`. */
export interface McpServerResourceReadParams {
  /** The server. */
  server: string;
  /** A Thread. Every Thread has the servers of the workspace. */
  threadId?: string;
  /** The resource. */
  uri: string;
}

/** Result of `mcpServer/resource/read`: the MCP server's own answer, with all its members. */
export interface McpServerResourceReadResult {
  /** The contents, as MCP has them. */
  contents: unknown[];
}

/** Params of `mcpServer/oauth/login`. */
export interface McpServerOauthLoginParams {
  /** The server. */
  name: string;
  /** Scopes to ask for beside those that the server names. */
  scopes?: string[];
  /** A Thread. Every Thread has the servers of the workspace. */
  threadId?: string;
  /** How long the user may take, in seconds, 10 minutes at most. */
  timeoutSecs?: number;
}

/** Result of `mcpServer/oauth/login`. */
export interface McpServerOauthLoginResult {
  /** The page that the user opens, in a browser on the machine of this server. */
  authorizationUrl: string;
}

/** Params of `skills/list`. */
export interface SkillsListParams {
  /** Whether skills with a missing requirement are listed. Default `true`. */
  includeUnavailable?: boolean;
}

/** Result of `skills/list`. */
export interface SkillsListResult {
  /** By name. */
  skills: SkillInfo[];
}

/** Params of the methods about one skill. */
export interface SkillParams {
  /** The skill. */
  name: string;
}

/** Result of `skills/read`. */
export interface SkillsReadResult {
  /** The file, unchanged. */
  content: string;
  /** Its front matter. */
  metadata?: Record<string, unknown>;
  /** The skill. */
  name: string;
}

/** Result of `skills/view`. */
export interface SkillsViewResult {
  /** The text that an agent reads. */
  content: string;
  /** The skill. */
  name: string;
}

/** Result of `skills/restoreOriginal`. */
export interface SkillsRestoreOriginalResult {
  /** The skill. */
  name: string;
  /** Whether an adapted skill was replaced by its original. */
  restored: boolean;
}

/** Params of `skills/setEnabled`. Repeating them changes nothing. */
export interface SkillsSetEnabledParams {
  /** Whether agents are offered it. */
  enabled: boolean;
  /** The skill. */
  name: string;
}

/** Result of `skills/setEnabled`. */
export interface SkillsSetEnabledResult {
  /** The skill as it is now. */
  skill: SkillInfo;
}

/** Result of `skills/uninstall`. */
export interface SkillsUninstallResult {
  /** The skill. */
  name: string;
  /** Absolute path of the removed directory. */
  removedSourcePath: string;
  /** Number of adapted copies that were removed with it. */
  removedVariantCount: number;
  /** Its owner. */
  source: SkillSource;
  /** Whether it was removed. */
  uninstalled: boolean;
}

/** Params of `command/list`. */
export interface CommandListParams {
  /** Whether the server's own are listed. Default `true`. */
  includeBuiltins?: boolean;
  /** Language of the descriptions, `zh` or `en`. There is English only. */
  language?: string;
  /**
   * Extension: the Thread that they are for. With it, the commands of the other agent that runs the Thread come first, and
   * replace those of the same name.
   */
  threadId?: string;
}

/** Result of `command/list`. */
export interface CommandListResult {
  /** By category, then by name. */
  commands: CommandInfo[];
}

/** Params of `command/execute`. */
export interface CommandExecuteParams {
  /** The arguments, one by one. */
  arguments?: string[];
  /** The client's name for this request. */
  clientRequestId?: string;
  /** `/name`, possibly with arguments behind it. */
  command: string;
  /** Who runs it. */
  sender?: SenderContext;
  /** The Thread that it is about. */
  threadId: string;
}

/** Result of `command/execute`. */
export interface CommandExecuteResult {
  /** Threads that were archived. */
  archivedThreadIds?: string[];
  /** Whether the new Thread is not stored before its first Turn. */
  createdLazily?: boolean;
  /** Of a custom command: what the client sends with `turn/start`. */
  expandedPrompt?: string;
  /** Whether it was a command. */
  handled: boolean;
  /** Whether the text is Markdown. */
  isMarkdown: boolean;
  /** Text to show. */
  message?: string;
  /** Whether the conversation goes on in `thread`. */
  sessionReset?: boolean;
  /** The new Thread. */
  thread?: Thread;
}

/** Params of `workspace/commitMessage/suggest`. */
export interface CommitMessageSuggestParams {
  /** At most so much of the diff. Default 100 000. */
  maxDiffChars?: number;
  /** The files, at least one. */
  paths: string[];
  /** The Thread whose model and settings are used. Extension: those of the workspace when left out. */
  threadId?: string;
}

/** Result of `workspace/commitMessage/suggest`. */
export interface CommitMessageSuggestResult {
  /** The message. */
  message: string;
}

/** Params of `welcome/suggestions`. */
export interface WelcomeSuggestionsParams {
  /** Who asks. */
  identity: SessionIdentity;
  /** At most so many, up to 4. */
  maxItems?: number;
}

/** Result of `welcome/suggestions`. */
export interface WelcomeSuggestionsResult {
  /** Changes when what they were made from changes. */
  fingerprint: string;
  /** When they were made. */
  generatedAt: string;
  /** The ideas. */
  items: WelcomeSuggestion[];
  /** Whether there are any. */
  source: WelcomeSuggestionSource;
}

/** Params of `model/list`. */
export interface ModelListParams {
  /** Lists the models of this provider alone. */
  providerId?: string;
}

/** Result of `model/list`. Trouble with a provider is no error of the request. */
export interface ModelListResult {
  /** The error of a provider. */
  errorCode?: ModelListErrorCode;
  /** The error, for the user. */
  errorMessage?: string;
  /** The models; none when it could not. */
  models: ModelInfo[];
  /** The protocol that it speaks. */
  protocol?: ProviderProtocol;
  /** The provider that was asked for. */
  providerId?: string;
  /** Whether the list could be had. */
  success: boolean;
}

/** Result of `workspace/defaults/read`: the values for a Thread whose configuration has none. */
export interface WorkspaceDefaultsResult {
  /** The policy that `default` means. */
  approvalPolicy: ApprovalPolicy;
  /** Whether a setting names the policy; if not, a client may have its user choose. */
  approvalPolicySet: boolean;
  /** The variable of the environment whose key chose the model. */
  keyVariable?: string;
  /** The model; `offline` answers without a provider. */
  model: string;
  /** The reason for this model. */
  modelSource: DefaultModelSource;
  /** A note for the user about a model that no setting names, as one line. */
  notice?: string;
  /** The values of `reasoningEffort` that the model accepts. */
  reasoningEfforts: ReasoningEffort[];
}

/** Result of `provider/list`. */
export interface ProviderListResult {
  /** The providers. */
  providers: ProviderInfo[];
}

/** Params of `provider/create` and `provider/update`. A member that is left out is not changed. */
export interface ProviderEditParams {
  /** Its key; `null` and an empty text remove it. */
  apiKey?: string | null;
  /** Its name for users. */
  displayName?: string;
  /** Its address. Needed for a new provider that is not built in. */
  endPoint?: string;
  /** The provider's name in settings. */
  id: string;
  /** Most tokens of one reply, from 1 on. */
  maxOutputTokens?: number;
  /** The protocol that it speaks. Needed for a new provider that is not built in. */
  protocol?: ProviderProtocol;
  /** Longest silence in a reply, in milliseconds; counted in whole seconds. */
  streamIdleTimeoutMs?: number;
  /** How often a failed request is repeated, at most 9. */
  streamMaxRetries?: number;
}

/** Result of `provider/create` and `provider/update`. */
export interface ProviderResult {
  /** The provider. */
  provider: ProviderInfo;
}

/** Params of `provider/delete`. */
export interface ProviderDeleteParams {
  /** The provider's name in settings. */
  id: string;
}

/** Result of `provider/delete`. */
export interface ProviderDeleteResult {
  /** Always `true`. */
  deleted: boolean;
}

/** Params of `provider/test`: a provider of the settings, a draft, or a provider with changes. */
export interface ProviderTestParams {
  /** Its key; `null` and an empty text remove it. */
  apiKey?: string | null;
  /** Its name for users. */
  displayName?: string;
  /** Its address. Needed for a new provider that is not built in. */
  endPoint?: string;
  /** Most tokens of one reply, from 1 on. */
  maxOutputTokens?: number;
  /** The protocol that it speaks. Needed for a new provider that is not built in. */
  protocol?: ProviderProtocol;
  /** The provider's name in settings; needed unless `protocol` and `endPoint` are there. */
  providerId?: string;
  /** Longest silence in a reply, in milliseconds; counted in whole seconds. */
  streamIdleTimeoutMs?: number;
  /** How often a failed request is repeated, at most 9. */
  streamMaxRetries?: number;
}

/** Result of `provider/test`. Trouble with the provider is no error of the request. */
export interface ProviderTestResult {
  /** The kind of trouble. */
  errorCode?: ModelListErrorCode;
  /** The trouble, for the user. */
  errorMessage?: string;
  /** The models. */
  models: ModelInfo[];
  /** The protocol that was spoken. */
  protocol: ProviderProtocol;
  /** The provider that was asked for. */
  providerId?: string;
  /** Whether the provider has listed its models. */
  success: boolean;
}

/** Result of `server/stats`: one moment, taken without waiting for any work. */
export interface ServerStatsResult {
  /** The connection that asked. */
  connection: ConnectionStats;
  /** Clients that are connected now, of every dialect. */
  connections?: number;
  /** Threads in memory. */
  liveThreads: number;
  /** The logs of all live Threads together. */
  log: LogStats;
  /** Bytes of memory that the server occupies; absent where the system does not say. */
  memoryBytes?: number;
  /** The store. */
  store: StoreStats;
  /** Cursors on live Threads. */
  subscriptions: number;
  /** Milliseconds since the server started. */
  uptimeMs?: number;
  /** The server's version. */
  version: string;
}

/** Parameters of `policy/explain`. */
export interface PolicyExplainParams {
  /** The command line, as a shell would get it. 1 to 65,536 bytes. */
  command: string;
  /** A Thread whose settings and earlier answers apply; those of the workspace when left out. */
  threadId?: string;
}

/** Result of `policy/explain`. Nothing was run, asked or stored. */
export interface PolicyExplainResult {
  /** The commands in the line, with those inside other commands. */
  commands: PolicyCommand[];
  /** Reasons why the whole line needs a question, as half sentences. */
  concerns: string[];
  /** The judgement of the rules. */
  judgement: PolicyJudgement;
  /** The outcome if the agent ran the command now. */
  outcome: PolicyOutcome;
  /** The reason for the judgement: half a sentence. */
  reason: string;
  /** The rule that decides, if one does. */
  rule?: PolicyRule;
}

/** Result of `approval/rules/list`. */
export interface ApprovalRulesListResult {
  /** The `acceptAlways` answers in effect in this workspace, at most 1,000. */
  answers: StandingAnswer[];
  /** The rules in force, in the order in which they are written. */
  rules: PolicyRule[];
}

/** Parameters of `approval/rules/remove`. */
export interface ApprovalRulesRemoveParams {
  /** The client's name for the request. */
  clientRequestId?: string;
  /** The ids of answers; all of them when left out. Unknown ids are ignored. */
  ids?: string[];
}

/** Result of `approval/rules/remove`. */
export interface ApprovalRulesRemoveResult {
  /** The answers that are left. */
  answers: StandingAnswer[];
}

/** Parameters of `audit/list`. */
export interface AuditListParams {
  /** The number after which entries are listed; from the oldest when left out. */
  after?: number;
  /** Most entries, up to 200, which is the default. */
  limit?: number;
}

/** Result of `audit/list`. */
export interface AuditListResult {
  /** The entries, oldest first; none if there are no more. */
  rows: AuditRow[];
}

/** Parameters of `audit/cut`. */
export interface AuditCutParams {
  /** The client's name for this request. */
  clientRequestId?: string;
  /** The number of the newest entry that is removed. */
  upTo: number;
}

/** Result of `workspace/config/schema`. */
export interface WorkspaceConfigSchemaResult {
  /** Settings that belong together, in order. */
  sections: ConfigSection[];
}

/** Params of `workspace/config/update`: at least one setting. `null`, and an empty text, remove one. */
export interface WorkspaceConfigUpdateParams {
  /** Key for `endPoint`. Goes into the user's own file. */
  apiKey?: string | null;
  /** The policy of Threads that have none. */
  defaultApprovalPolicy?: DefaultApprovalPolicy | null;
  /** Address of a provider. Goes into the user's own file. */
  endPoint?: string | null;
  /** Stored for other programs. */
  memoryAutoConsolidateEnabled?: boolean | null;
  /** The default model; `Default` removes it too. Threads with a model of their own do not change. */
  model?: string | null;
  /** Extension: sets up a provider of models in the user's own file. */
  provider?: ProviderSetting;
  /**
   * Extension: writes `model` and `defaultApprovalPolicy` into the user's own file, for all folders, instead of the
   * workspace's.
   */
  saveUserConfig?: boolean;
  /** Stored for other programs. */
  skillsSelfLearningEnabled?: boolean | null;
  /** Whether `welcome/suggestions` suggests anything. */
  welcomeSuggestionsEnabled?: boolean | null;
}

/** Result of `workspace/config/update`: the values in the files; `null` for a setting that no file has. */
export interface WorkspaceConfigResult {
  /** Key for `endPoint`. `null` on a server that other machines can reach, unless this request set it. */
  apiKey: string | null;
  /** The policy of Threads that have none, in the file's spelling. */
  defaultApprovalPolicy: string | null;
  /** Address of a provider. */
  endPoint: string | null;
  /** Stored for other programs. */
  memoryAutoConsolidateEnabled: boolean | null;
  /** The default model. */
  model: string | null;
  /** Stored for other programs. */
  skillsSelfLearningEnabled: boolean | null;
  /** Whether `welcome/suggestions` suggests anything. */
  welcomeSuggestionsEnabled: boolean | null;
}

/** Params of `config/read`. */
export interface ConfigReadParams {
  /** Whether the result has the files one by one. Default `false`. */
  includeLayers?: boolean;
}

/** Result of `config/read`. `***` replaces secrets. */
export interface ConfigReadResult {
  /** The settings of the files that count, with the files' names. Defaults are left out. */
  config: unknown;
  /** The files: the user's first. */
  layers?: ConfigFileLayer[];
  /** The file of each value, by the value's dotted path. */
  origins: Record<string, ConfigOrigin>;
}

/** Params of `config/value/write`. */
export interface ConfigValueWriteParams {
  /** The version that the file must have. */
  expectedVersion?: string;
  /** The file, as `config/read` names it; the workspace's when left out. */
  filePath?: string;
  /** The dotted path of the member, such as `Sandbox.Network`. Case does not matter. */
  keyPath: string;
  /** How the value joins the present one. */
  mergeStrategy: ConfigMergeStrategy;
  /** Its value; `null` removes the member, and objects that have no member then. */
  value: unknown;
}

/** Result of `config/value/write` and `config/batchWrite`. */
export interface ConfigWriteResult {
  /** The file. */
  filePath: string;
  /** The value that counts instead, with `okOverridden`. */
  overriddenMetadata?: ConfigOverridden;
  /** Whether the value counts. */
  status: ConfigWriteStatus;
  /** The version of the file now. */
  version: string;
}

/** Params of `config/batchWrite`: at least one and at most 256 changes, made together or not at all. */
export interface ConfigBatchWriteParams {
  /** The changes, in order. */
  edits: ConfigEditParams[];
  /** The version that the file must have. */
  expectedVersion?: string;
  /** The file, as `config/read` names it; the workspace's when left out. */
  filePath?: string;
}

/** Result of `doctor/run`. */
export interface DoctorRunResult {
  /** The findings, in the order of the checks. Those of one subject follow each other. */
  findings: DoctorFinding[];
}

/** Result of `workspace/trust/get` and `workspace/trust/set`. */
export interface WorkspaceTrustResult {
  /** Items in effect. */
  counted: TrustItem[];
  /** Whether a setting takes or loses effect only at the next start of the server. */
  restartNeeded: boolean;
  /** Whether the user trusts the folder; its texts are used only then. */
  trusted: boolean;
  /** Items that are not in effect yet. */
  waiting: TrustItem[];
}

/** Params of `workspace/trust/set`. */
export interface WorkspaceTrustSetParams {
  /** The client's name for the request. */
  clientRequestId?: string;
  /**
   * Fingerprints of the items that the user has seen. Exactly these take effect, and earlier ones stay. Absent: all
   * items that the folder has now take effect.
   */
  fingerprints?: string[];
  /** Whether the folder is trusted; `false` revokes all trust in it. */
  trusted: boolean;
}

/** Params of `tool/list`. */
export interface ToolListParams {
  /** `plan` for the tools of plan mode; else those of `agent`. */
  mode?: string;
}

/** Result of `tool/list`. */
export interface ToolListResult {
  /** The tools by name. */
  tools: ListedTool[];
}

/** Result of `hermes/extension/list`. */
export interface HermesExtensionListResult {
  /** In the order of the configuration. */
  extensions: HermesExtension[];
}

/** Params of `hermes/extension/setEnabled`. */
export interface HermesSetEnabledParams {
  /** Whether it is enabled. */
  enabled: boolean;
  /** The extension. */
  id: string;
}

/** Params of `hermes/extension/logs`. */
export interface HermesLogsParams {
  /** Reads on after this entry; otherwise the last entries are read. */
  after?: number;
  /** The extension. */
  id: string;
  /** Most entries. Default 100, up to 1,000. */
  limit?: number;
}

/** Result of `hermes/extension/logs`. */
export interface HermesLogsResult {
  /** Oldest first. */
  entries: HermesLogEntry[];
}

/** Result of `hermes/toolbar/list`. */
export interface HermesToolbarResult {
  /** In the order of the extensions. */
  buttons: HermesToolbarButton[];
}

/** Params of `hermes/command/execute`. */
export interface HermesCommandParams {
  /** The command. */
  command: string;
  /** The Thread whose document the extension is to use. */
  threadId?: string;
}

/** Params of `hermes/document/open`. Without `path` and `text`, the document is empty. */
export interface HermesOpenParams {
  /** Discards the changes of the document that the Thread has. Default `false`. */
  discard?: boolean;
  /** A file of the server's machine; a relative path is one of the workspace. */
  path?: string;
  /** The text of a new document. */
  text?: string;
  /** The Thread. */
  threadId: string;
}

/** Result of `hermes/document/list`. */
export interface HermesDocumentListResult {
  /** By the ids of their Threads. */
  documents: HermesDocument[];
}

/** Params of `hermes/document/get`. */
export interface HermesGetParams {
  /** `hl7` (with CR as line ends), `json`, `yaml` or `toml`. Without it, the text as it is, in which `change` counts. */
  format?: string;
  /** Layout of JSON, YAML and TOML. Default `segments`. */
  shape?: HermesShape;
  /** The Thread. */
  threadId: string;
}

/** Result of `hermes/document/get`. */
export interface HermesText {
  /** The text. */
  text: string;
  /** The version that it is of. */
  version: number;
}

/** Params of `hermes/document/change`. */
export interface HermesChangeParams {
  /** Applied one after the other, all or none. */
  edits: HermesEdit[];
  /** The Thread. */
  threadId: string;
  /** The version that the edits were made on. */
  version: number;
}

/** Params of `hermes/document/set`. */
export interface HermesSetParams {
  /** `hl7`, `json`, `yaml` or `toml`. Default `hl7`. */
  format?: string;
  /** The message. */
  text: string;
  /** The Thread. */
  threadId: string;
  /** Refused with the reason `conflict` if the document has another version. */
  version?: number;
}

/** Params of `hermes/document/patch`. */
export interface HermesPatchParams {
  /** Applied one after the other; a patch that fails is skipped. */
  patches: HermesPatch[];
  /** The Thread. */
  threadId: string;
  /** Refused with the reason `conflict` if the document has another version. */
  version?: number;
}

/** Result of `hermes/document/patch`. */
export interface HermesPatchResult {
  /** The skipped patches. */
  errors?: HermesPatchFailure[];
  /** Number of applied patches. */
  patchesApplied: number;
  /** Whether all patches were applied. */
  success: boolean;
}

/** Params of `hermes/document/undo` and `redo`. */
export interface HermesStepParams {
  /** The Thread. */
  threadId: string;
  /** Refused with the reason `conflict` if the document has another version. */
  version?: number;
}

/** Params of `hermes/document/save`. */
export interface HermesSaveParams {
  /** Another file, which is the document's from then on. */
  path?: string;
  /**
   * Replaces a file that is at `path`, whatever is in it. Default `false`: the answer is an error with the reason `exists`, or
   * `changedOnDisk` where the file is the document's own.
   */
  replace?: boolean;
  /** The Thread. */
  threadId: string;
}

/** Params of `hermes/document/close`. */
export interface HermesCloseParams {
  /** Discards changes. Default `false`. */
  discard?: boolean;
  /** The Thread. */
  threadId: string;
}

/** A Thread. */
export interface HermesFocusParams {
  /** The Thread. */
  threadId: string;
}

/** Result of `hermes/document/validate`. */
export interface HermesFindings {
  /** In the order of the message. */
  findings: HermesFinding[];
  /** Whether there are more. */
  truncated: boolean;
}

/** Params of `hermes/schema/segment`. */
export interface HermesSegmentParams {
  /** The name of the segment. */
  segment: string;
}

/** Result of `hermes/schema/segment`. */
export interface HermesSegment {
  /** By field and component. */
  fields: HermesField[];
}

/** Result of `finecode/project/list`. */
export interface FineCodeProjectListResult {
  /** The projects, by path. */
  projects: FineCodeProject[];
}

/** Parameters of `finecode/action/list`. */
export interface FineCodeActionListParams {
  /** Whether runners are started to find presets. Without it, actions of presets are there once a run has needed them. */
  loadPresets?: boolean;
  /** Only of the project in this directory. */
  projectPath?: string;
}

/** Result of `finecode/action/list`. */
export interface FineCodeActionListResult {
  /** The actions, by project. */
  actions: FineCodeAction[];
}

/** Parameters of `finecode/action/run`. */
export interface FineCodeActionRunParams {
  /** The name or import path of the action. */
  action: string;
  /** Whether projects run side by side. Default true. */
  concurrently?: boolean;
  /** `json` and `string`; both when left out. */
  formats?: string[];
  /** Whether partial results are sent. Needs `runId`. */
  partialResults?: boolean;
  /** The payload, of the action's own type; an empty object when left out. */
  payload?: unknown;
  /** The directories of the projects; all that have the action when left out. */
  projectPaths?: string[];
  /** A name for the run, of this connection: it is cancelled by it, and notifications carry it. */
  runId?: string;
}

/** Result of `finecode/action/run`. */
export interface FineCodeActionRunResult {
  /** The result in each project. */
  results: FineCodeRunResult[];
}

/** Parameters of `finecode/action/cancel`. */
export interface FineCodeActionCancelParams {
  /** The run's name. */
  runId: string;
}

/** Result of `finecode/action/cancel`. */
export interface FineCodeActionCancelResult {
  /** Whether there was such a run. */
  cancelled: boolean;
}

/** Result of `finecode/runner/list`. */
export interface FineCodeRunnerListResult {
  /** The runners, by project and environment. */
  runners: FineCodeRunner[];
}

/** Parameters of `finecode/runner/restart`, `stop` and `logs`: the runner of clients, and the agent's. */
export interface FineCodeRunnerParams {
  /** Its environment. */
  env: string;
  /** The directory of its project. */
  projectPath: string;
}

/** Result of `finecode/runner/restart` and `stop`. */
export interface FineCodeRunnerResult {
  /** Whether there is such a runner. */
  found: boolean;
}

/** Result of `finecode/runner/logs`. */
export interface FineCodeRunnerLogsResult {
  /** The last lines that it has printed, those of its standard error last. */
  lines: string[];
}

/** Result of `device/list` and `device/revoke`. */
export interface DeviceListResult {
  /** The devices, in the order in which they were paired; at most 64. */
  devices: DeviceInfo[];
}

/** Parameters of `device/invite`. */
export interface DeviceInviteParams {
  /** The name that the device gets; without it, the name that the browser gives itself. At most 64 characters count. */
  label?: string;
  /** The person whose it will be, as `bobbin people` names it; the user of the server without one. */
  person?: string;
}

/** Result of `device/invite`. */
export interface DeviceInviteResult {
  /** The code, which counts once; absent where browsers need none. */
  code?: string;
  /** When it does not count any more. */
  expiresAt?: string;
  /** The page's address on the server's machine. The code goes behind a `#`. */
  pageUrl: string;
  /** The page's addresses on other machines, the best first; empty where none reaches it. */
  remoteUrls: string[];
}

/** Parameters of `device/revoke`. */
export interface DeviceRevokeParams {
  /** The ids of devices; all of them when left out. Unknown ids are ignored. */
  ids?: string[];
}

/** Result of `externalChannel/list`. */
export interface ExternalChannelListResult {
  /** The channels, by name. */
  channels: ExternalChannelConfig[];
}

/** Params of `externalChannel/get`. */
export interface ExternalChannelNameParams {
  /** The channel. */
  name: string;
}

/** Result of `externalChannel/get` and `externalChannel/upsert`. */
export interface ExternalChannelResult {
  /** The channel. */
  channel: ExternalChannelConfig;
}

/** Params of `externalChannel/upsert`. */
export interface ExternalChannelUpsertParams {
  /** The channel; replaces the one of its name. */
  channel: ExternalChannelConfig;
  /** Extension: the client's own id for this request. */
  clientRequestId?: string;
}

/** Params of `externalChannel/remove`. */
export interface ExternalChannelRemoveParams {
  /** Extension: the client's own id for this request. */
  clientRequestId?: string;
  /** The channel. */
  name: string;
}

/** Result of `externalChannel/remove`. */
export interface ExternalChannelRemoveResult {
  /** Always `true`. */
  removed: boolean;
}

/** Params of `externalChannel/logs`. */
export interface ExternalChannelLogsParams {
  /** The channel. */
  name: string;
  /** Most lines, 1 to 1000. Default 200. */
  tail?: number;
}

/** Result of `externalChannel/logs`. */
export interface ExternalChannelLogsResult {
  /** The newest lines that its adapter has written, the newest last. `***` replaces secrets. */
  lines: string[];
  /** The channel. */
  name: string;
}

/** Result of `channel/status`. */
export interface ChannelStatusResult {
  /** The channels, by name. */
  channels: ChannelStatus[];
}

/** Params of `channel/send`. */
export interface ChannelSendParams {
  /** The channel. */
  channel: string;
  /** The client's own id for this request. */
  clientRequestId?: string;
  /** The message. */
  message: ChannelMessage;
  /** Hints for the adapter, an object. */
  metadata?: unknown;
  /** The chat, as the channel's platform names it. */
  target: string;
}

/** Result of `channel/send`. */
export interface ChannelSendResult {
  /** Whether the platform took it. */
  delivered: boolean;
  /** Why it was not delivered, for programs. */
  errorCode?: string;
  /** Why it was not delivered, for the user. */
  errorMessage?: string;
  /** The platform's id of the medium. */
  remoteMediaId?: string;
  /** The platform's id of the message. */
  remoteMessageId?: string;
}

/** Parameters of `cron/list`. */
export interface CronListParams {
  /** Whether jobs that are off are listed too. Default `false`. */
  includeDisabled?: boolean;
}

/** Result of `cron/list`. */
export interface CronListResult {
  /** The jobs, oldest first. */
  jobs: CronJobInfo[];
}

/** Parameters of `cron/remove` and `cron/run`. */
export interface CronJobParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The job. */
  jobId: string;
}

/** Result of `cron/remove`. */
export interface CronRemoveResult {
  /** Always `true`. */
  removed: boolean;
}

/** Parameters of `cron/enable`. */
export interface CronEnableParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Whether it is to run by the clock. */
  enabled: boolean;
  /** The job. */
  jobId: string;
}

/** Result of `cron/enable`. */
export interface CronEnableResult {
  /** The job. */
  job: CronJobInfo;
}

/** Result of `cron/run`. */
export interface CronRunResult {
  /** The job. */
  job: CronJobInfo;
  /** Whether it runs as soon as there is room; `false` while a run of it goes on. */
  queued: boolean;
}

/** Parameters of `heartbeat/trigger`. */
export interface HeartbeatTriggerParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
}

/** Result of `heartbeat/trigger`. */
export interface HeartbeatTriggerResult {
  /** Why the run failed. */
  error?: string;
  /** The agent's last message; absent if there was nothing to do. */
  result?: string;
}

/** Parameters of `automation/task/list`. */
export interface AutomationTaskListParams {
  /** The workspace; a server has one. */
  workspacePath?: string;
}

/** Result of `automation/task/list`. */
export interface AutomationTaskListResult {
  /** The tasks, oldest first. */
  tasks: AutomationTask[];
}

/** Parameters of `automation/task/read`. */
export interface AutomationTaskReadParams {
  /** The task. */
  taskId: string;
}

/** Result of `automation/task/read`: the task, bare and as `task`, since clients read either. */
export interface AutomationTaskReadResult {
  /** The agent's last message, or the reason of a failure. */
  agentSummary?: string;
  /** `workspaceScope`, `fullAuto` or `default`. */
  approvalPolicy?: string;
  /** When it was made. */
  createdAt?: string;
  /** Its description. */
  description?: string;
  /** Its id. */
  id: string;
  /** When it is due. */
  nextRunAt?: string;
  /** Extension: a sentence on a time that was left out, an interruption, or why the task is off. */
  note?: string;
  /** When it runs; without one, once. */
  schedule?: JobSchedule;
  /** Its state. */
  status: AutomationTaskStatus;
  /** The same. */
  task: AutomationTask;
  /** The Thread that it runs in, in place of its own. */
  threadBinding?: AutomationThreadBinding;
  /** The Thread of its last run. */
  threadId?: string;
  /** Its title. */
  title: string;
  /** When it last changed. */
  updatedAt?: string;
}

/** Parameters of `automation/task/create`. */
export interface AutomationTaskCreateParams {
  /** `workspaceScope` (default), `fullAuto` or `default`. */
  approvalPolicy?: string;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Its description, at most 10,000 characters. */
  description?: string;
  /** When it runs; without one, once and at once. */
  schedule?: JobSchedule;
  /** A template whose workflow, description and policy count where the request has none. */
  templateId?: string;
  /** The Thread that it runs in, in place of its own. */
  threadBinding?: AutomationThreadBinding;
  /** Its title, at most 200 characters. */
  title: string;
  /** The workflow, Markdown, in place of the template's. */
  workflowTemplate?: string;
  /** `project`; this server has no other. */
  workspaceMode?: string;
}

/** Result of `automation/task/create`. */
export interface AutomationTaskCreateResult {
  /** The task. */
  task: AutomationTask;
  /** The place of its files in the workspace, `.craft/tasks/ID`. Nothing is written there. */
  taskDirectory: string;
  /** Its id. */
  taskId: string;
}

/** Parameters of `automation/task/run` and `automation/task/delete`. */
export interface AutomationTaskParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The task. */
  taskId: string;
}

/** Result of `automation/task/run` and `automation/task/updateBinding`. */
export interface AutomationTaskResult {
  /** The task. */
  task: AutomationTask;
}

/** Result of `automation/task/delete` and `automation/template/delete`. */
export interface AutomationOkResult {
  /** Always `true`. */
  ok: boolean;
}

/** Parameters of `automation/task/updateBinding`. */
export interface AutomationTaskUpdateBindingParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The task. */
  taskId: string;
  /** The Thread; `null` for a Thread of its own. */
  threadBinding?: AutomationThreadBinding;
}

/** Parameters of `automation/template/list`. */
export interface AutomationTemplateListParams {
  /** Language of the built-in ones. There is English only. */
  locale?: string;
}

/** Result of `automation/template/list`. */
export interface AutomationTemplateListResult {
  /** The built-in ones, those that a trusted folder brings, then those that users saved. */
  templates: AutomationTemplate[];
}

/** Parameters of `automation/template/save`. */
export interface AutomationTemplateSaveParams {
  /** Its category. */
  category?: string;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The default approval policy. */
  defaultApprovalPolicy?: string;
  /** The default description of its tasks. */
  defaultDescription?: string;
  /** The default schedule of its tasks. */
  defaultSchedule?: JobSchedule;
  /** The default title of its tasks. */
  defaultTitle?: string;
  /** The default workspace mode of its tasks. */
  defaultWorkspaceMode?: string;
  /** Its purpose. */
  description?: string;
  /** A picture letter. */
  icon?: string;
  /** The template to replace; a new one where there is none. */
  id?: string;
  /** Whether its tasks want a Thread to run in. */
  needsThreadBinding?: boolean;
  /** Its title, at most 200 characters. */
  title: string;
  /** The workflow of its tasks. */
  workflowMarkdown: string;
}

/** Result of `automation/template/save`. */
export interface AutomationTemplateResult {
  /** The template. */
  template: AutomationTemplate;
}

/** Parameters of `automation/template/delete`. */
export interface AutomationTemplateDeleteParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The template; one that is not there is no error. */
  id: string;
}

/** Params of `automation/list`. */
export type AutomationListParams = Record<string, unknown>;

/** Result of `automation/list`. */
export interface AutomationListResult {
  /** Tasks, then cron jobs, each oldest first. */
  automations: Automation[];
}

/** Params of `automation/read`. */
export interface AutomationReadParams {
  /** The automation. */
  automationId: string;
}

/** Result of `automation/read`, `automation/create` and `automation/update`. */
export interface AutomationResult {
  /** The automation. */
  automation: Automation;
}

/** Params of `automation/create`. */
export interface AutomationCreateParams {
  /** The definition. */
  automation: AutomationInput;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
}

/** Params of `automation/update`. */
export interface AutomationUpdateParams {
  /** The whole definition. */
  automation: AutomationInput;
  /** The automation. */
  automationId: string;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The `version` that it must have. */
  expectedVersion: number;
}

/** Params of `automation/delete` and `automation/run`. */
export interface AutomationParams {
  /** The automation. */
  automationId: string;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
}

/** Result of `automation/run`. */
export interface AutomationRunResult {
  /** The run. */
  run: AutomationRun;
}

/** Result of `automation/runs/list` and `automation/runs/read`. */
export interface AutomationRunsResult {
  /** The runs, newest first; the latest 31 that have ended. */
  runs: AutomationRun[];
}

/** Params of `automation/runs/read`. */
export interface AutomationRunsReadParams {
  /** The automation. */
  automationId: string;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Whether their user has read of them. */
  read: boolean;
  /** The runs, at most 31. */
  runIds: string[];
}

/** Params of `automation/presets/list`. */
export interface AutomationPresetsListParams {
  /** The user's language; the presets of this server are English. */
  locale?: string;
}

/** Result of `automation/presets/list`. */
export interface AutomationPresetsListResult {
  /** The presets. */
  presets: AutomationPreset[];
}

/** Params of `plugin/list`. */
export interface PluginListParams {
  /** Whether disabled plugins are listed. Default `true`. */
  includeDisabled?: boolean;
}

/** Result of `plugin/list`. */
export interface PluginListResult {
  /** The diagnostics of all plugins, and of folders that are no plugin. */
  diagnostics: PluginDiagnostic[];
  /** Always empty: there are no marketplaces. */
  marketplaces: unknown[];
  /** The installed ones, then those of the catalogue. */
  plugins: PluginInfo[];
  /** Grows with every change of the plugins. An answer with a smaller number than another is older. */
  snapshotRevision: number;
  /** The workspace's folder. */
  workspacePath: string;
}

/** Params of `plugin/skill/read`. */
export interface PluginSkillReadParams {
  /** The plugin. */
  id: string;
  /** Its skill. */
  name: string;
}

/** Result of `plugin/skill/read`. */
export interface PluginSkillReadResult {
  /** The text of its `SKILL.md`. */
  content: string;
  /** The plugin. */
  id: string;
  /** Its skill. */
  name: string;
}

/** Params of `plugin/installLocal`. */
export interface PluginInstallLocalParams {
  /** Absolute path of a folder with a plugin, on the server's machine. */
  path: string;
  /** The place of the copy. */
  scope: PluginScope;
}

/** Result of a request that changes a plugin. */
export interface PluginWriteResult {
  /** Always empty: no plugin depends on another. */
  affectedPlugins: PluginInfo[];
  /** Reasons for the outcome. */
  diagnostics: PluginDiagnostic[];
  /** The outcome of the request. */
  outcome: PluginOutcome;
  /** The plugin now. */
  plugin: PluginInfo;
  /** Grows with every change of the plugins. */
  snapshotRevision: number;
}

/** Params of `plugin/setTrusted`. Sent twice it does the same. */
export interface PluginSetTrustedParams {
  /** The plugin. */
  id: string;
  /** Whether its user trusts its present content. */
  trusted: boolean;
}

/** Params of `plugin/view` and `plugin/remove`. Sent twice, a removal finds nothing. */
export interface PluginParams {
  /** Which. */
  id: string;
}

/** Result of `plugin/view`. */
export interface PluginResult {
  /** The plugin. */
  plugin: PluginInfo;
  /** Grows with every change of the plugins. */
  snapshotRevision: number;
}

/** Params of `plugin/install`. One of both says which. Sent twice it does the same. */
export interface PluginInstallParams {
  /** A plugin of the catalogue. */
  id?: string;
  /** Extension: absolute path of a folder with a plugin, on the server's machine. */
  path?: string;
}

/** Params of `plugin/setEnabled`. Sent twice it does the same. */
export interface PluginSetEnabledParams {
  /** Whether it is to bring something. */
  enabled: boolean;
  /** Which. */
  id: string;
}

/** Params of `hooks/list`. */
export type HooksListParams = Record<string, unknown>;

/** Result of `hooks/list`, `hooks/setState` and `hooks/trustPlugin`. */
export interface HooksListResult {
  /** Files that cannot be read. */
  errors: HookFileError[];
  /** All hooks: the user's, the workspace's, those of plugins. */
  hooks: HookInfo[];
  /** Mistakes in entries. Other entries of the file are not affected. */
  warnings: string[];
}

/** Params of `hooks/setState`. */
export interface HooksSetStateParams {
  /** Whether it runs in this workspace. Absent: as before. */
  enabled?: boolean;
  /** The hook's key. */
  key: string;
  /** The `currentHash` of the hook that the user has seen and trusts. Absent: as before. */
  trustedHash?: string;
}

/** Params of `hooks/trustPlugin`. */
export interface HooksTrustPluginParams {
  /** The plugin. */
  pluginId: string;
}

/** Result of `subagent/profiles/list`. */
export interface SubagentProfilesListResult {
  /** The profile of a subagent that names none. */
  defaultName: string;
  /** The profiles: `native` first, then by name. */
  profiles: SubagentProfile[];
  /** The settings of all profiles. */
  settings: SubagentSettings;
}

/** Params of `subagent/profiles/upsert`. */
export interface SubagentProfileUpsertParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Its definition. */
  definition: SubagentProfileDefinition;
  /** Its name: letters, digits, `-`, `_` and `.`. */
  name: string;
}

/** Result of `subagent/profiles/upsert` and `subagent/profiles/setEnabled`. */
export interface SubagentProfileResult {
  /** The profile. */
  profile: SubagentProfile;
}

/** Params of `subagent/profiles/setEnabled`. */
export interface SubagentProfileEnabledParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Whether it is switched on. */
  enabled: boolean;
  /** Its name. */
  name: string;
}

/** Params of `subagent/profiles/remove`. */
export interface SubagentProfileNameParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Its name. */
  name: string;
}

/** Result of `subagent/profiles/remove`. */
export interface SubagentProfileRemoveResult {
  /** Always `true`. */
  removed: boolean;
}

/** Params of `subagent/settings/update`: at least one setting. `null`, and an empty text, remove one. */
export interface SubagentSettingsUpdateParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Whether command lines go on with sessions of their own. */
  externalCliSessionResumeEnabled?: boolean | null;
  /** The model of native subagents whose profile has none. */
  model?: string | null;
}

/** Result of `subagent/settings/update`. */
export interface SubagentSettingsResult {
  /** The settings in effect. */
  settings: SubagentSettings;
}

/** Params of `usage/summary`. */
export interface UsageSummaryParams {
  /** The first day, `YYYY-MM-DD`. Absent: the earliest. */
  from?: string;
  /** The last day. Absent: the latest. */
  to?: string;
  /** Minutes to add to UTC for the local time, cut to ±840. Default 0. */
  tzOffsetMinutes?: number;
}

/** Result of `usage/summary`. */
export interface UsageSummaryResult {
  /** The same for one call. */
  avgToolDurationMs: number;
  /** The share of read tokens that come from a cache, 0 to 1. */
  cacheHitRate: number;
  /** The longest call of a tool. */
  maxToolDurationMs: number;
  /** Number of Threads. */
  sessionCount: number;
  /** Always 0: no provider's writes to a cache are counted. */
  totalCacheWriteInputTokens: number;
  /** Tokens read from a cache. */
  totalCachedInputTokens: number;
  /** Compactions of conversations. */
  totalContextCompactions: number;
  /** Errors. */
  totalErrors: number;
  /** Tokens read and not from a cache. */
  totalFreshInputTokens: number;
  /** Tokens that models read. */
  totalInputTokens: number;
  /** The same as `totalFreshInputTokens`. */
  totalNonCachedInputTokens: number;
  /** Tokens that models wrote. */
  totalOutputTokens: number;
  /** Tokens of reasoning, among those written. */
  totalReasoningOutputTokens: number;
  /** Calls of models. */
  totalRequests: number;
  /** Their answers. */
  totalResponses: number;
  /** Tokens read and written. */
  totalTokens: number;
  /** Calls of tools. */
  totalToolCalls: number;
  /** Time of tools, in milliseconds. */
  totalToolDurationMs: number;
}

/** Params of `usage/history`. */
export interface UsageHistoryParams {
  /** The first day, `YYYY-MM-DD`. Absent: the earliest. */
  from?: string;
  /**
   * The key by which it is divided. By metric: `tokens` takes `tokenType`; `tokens`, `turns` and `requests` take
   * `surface`, `model`, `reasoning` and `speed`; `toolCalls` takes `toolSource` and `tool`; `skillUses` takes `skill`;
   * `errors` takes `surface`. Default `none`.
   */
  groupBy?: UsageGrouping;
  /** The metric. */
  metric: UsageMetric;
  /** The last day. Absent: the latest. */
  to?: string;
  /** Most keys of their own, 1 to 20; the rest counts as `other`. Default 10. */
  topLimit?: number;
  /** Minutes to add to UTC for the local time, cut to ±840. Default 0. */
  tzOffsetMinutes?: number;
}

/** Result of `usage/history`. */
export interface UsageHistoryResult {
  /** The days on which something was used, in order. */
  days: UsageDay[];
  /** The key by which it is divided. */
  groupBy: UsageGrouping;
  /** The keys, the largest first, `other` last. */
  series: UsageSeries[];
  /** The unit. */
  unit: UsageUnit;
}

/** Params of `usage/threads`. */
export interface UsageThreadsParams {
  /** The first day, `YYYY-MM-DD`. Absent: the earliest. */
  from?: string;
  /** Most Threads, 1 to 50. Default 5. */
  limit?: number;
  /** The last day. Absent: the latest. */
  to?: string;
  /** Minutes to add to UTC for the local time, cut to ±840. Default 0. */
  tzOffsetMinutes?: number;
}

/** Result of `usage/threads`. */
export interface UsageThreadsResult {
  /** The Threads, those with most tokens first. */
  threads: UsageOfThread[];
}

/** Params of `usage/thread`. */
export interface UsageThreadParams {
  /** The Thread. */
  threadId: string;
}

/** Result of `usage/thread`. */
export interface UsageThreadResult {
  /** The share of read tokens that come from a cache, 0 to 1. */
  cacheHitRate: number;
  /** Tokens read from a cache. */
  cachedInputTokens: number;
  /** The same by model, most tokens first. */
  groups: UsageOfModel[];
  /** Tokens read. */
  inputTokens: number;
  /** Tokens written. */
  outputTokens: number;
  /** The Thread. */
  threadId: string;
  /** Tokens read and written. */
  totalTokens: number;
  /** Number of Turns. */
  turns: number;
}

/** Params of `profile/insights`. */
export interface ProfileInsightsParams {
  /** The first day, `YYYY-MM-DD`. Absent: the earliest. */
  from?: string;
  /** The last day. Absent: the latest. */
  to?: string;
  /** Most skills, 1 to 20. Default 5. */
  topSkills?: number;
  /** Minutes to add to UTC for the local time, cut to ±840. Default 0. */
  tzOffsetMinutes?: number;
}

/** Result of `profile/insights`. */
export interface ProfileInsightsResult {
  /** The longest Turn, in milliseconds. */
  longestTaskMs: number;
  /** The skills that were used most. */
  skills: SkillUses[];
  /** Number of different skills. */
  skillsExplored: number;
  /** The model of most Turns. */
  topModel?: MostUsed;
  /** How much models reasoned in most Turns. */
  topReasoning?: MostUsed;
  /** Number of uses of skills. */
  totalSkillsUsed: number;
  /** Number of Threads. */
  totalThreads: number;
}

/** The parameters of `engine/list`. */
export type EngineListParams = Record<string, unknown>;

/** The answer of `engine/list`. */
export interface EngineListResult {
  /** The engines of the configuration files, in their order. */
  engines: EngineInfo[];
}

/** Parameters of `git/status`. */
export interface GitStatusParams {
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** Result of `git/status`. */
export interface GitStatusResult {
  /** Commits that the upstream lacks. */
  ahead: number;
  /** Commits of the upstream that are missing here. */
  behind: number;
  /** The branch; absent where no branch is checked out. */
  branch?: string;
  /** The changed files in the folder, sorted by path. At most 2,000. */
  files: GitFile[];
  /** The commit that is checked out, in hexadecimal; absent before the first commit. */
  head?: string;
  /** Why git cannot be asked, in git's words. */
  problem?: string;
  /** Whether git can be asked here. */
  repository: boolean;
  /** Whether there are more. */
  truncated: boolean;
  /** The branch that it follows, as `origin/main`. */
  upstream?: string;
}

/** Parameters of `git/diff`. */
export interface GitDiffParams {
  /** The branch to compare with, by its full name (`refs/heads/main`); the last commit when left out. */
  base?: string;
  /** The files to compare, relative to the folder; all when empty. At most 2,000. */
  paths?: string[];
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** Result of `git/diff`. */
export interface GitDiffResult {
  /**
   * Unified diff, git style, paths relative to the folder. Files that git does not know are in it, 40 of them at most.
   * Empty when it would be longer than 4 MiB: ask for fewer files. Files that may have secrets, or that a rule refuses, are not in it.
   */
  diff: string;
  /** Whether something is left out. */
  truncated: boolean;
}

/** Parameters of `git/branches`. */
export interface GitBranchesParams {
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** Result of `git/branches`. */
export interface GitBranchesResult {
  /** The branches, local and remote, by their newest commits. At most 500. */
  branches: GitBranch[];
}

/** Parameters of `git/commit`. */
export interface GitCommitParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The message, 1 to 16,384 bytes. */
  message: string;
  /** The files whose changes are committed, relative to the folder. 1 to 2,000. */
  paths: string[];
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** Result of `git/commit`. */
export interface GitCommitResult {
  /** The commit, in hexadecimal. */
  commit: string;
  /** The output of the hooks, at most 64 KiB. */
  output: string;
}

/** Parameters of `git/apply`. */
export interface GitApplyParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /**
   * A unified diff, git style, paths relative to the folder: files of `git/diff` or of a Turn's diff as they are, or
   * the lines before a file's first hunk with some of its hunks. 1 byte to 4 MiB.
   */
  patch: string;
  /** Whether the diff is taken back, and not made. */
  reverse: boolean;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** Result of `git/apply`. */
export type GitApplyResult = Record<string, unknown>;

/** Parameters of `git/fetch/plan`. */
export interface GitFetchPlanParams {
  /** The remote; `origin` when left out, or the first one. */
  remote?: string;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** The place that a fetch reads, as a user should see it before. */
export interface GitFetchPlan {
  /** The chosen one. */
  remote: string;
  /** The remotes, by name. */
  remotes: string[];
  /** Its address, as git would use it. A password in it is shown as `***`. */
  url: string;
}

/** Parameters of `git/fetch`: what the user has seen in the plan. Nothing is fetched when the address is another one now. */
export interface GitFetchParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** `remote` of the plan. */
  remote: string;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
  /** `url` of the plan. */
  url: string;
}

/** Result of `git/fetch`. */
export interface GitFetchResult {
  /** Commits of the branch's upstream that the branch lacks now. */
  behind: number;
}

/** Parameters of `git/fastForward`. */
export interface GitFastForwardParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** Result of `git/fastForward`. */
export interface GitFastForwardResult {
  /** The commit that is checked out now, in hexadecimal. */
  head: string;
}

/** Parameters of `git/push/plan`. */
export interface GitPushPlanParams {
  /** The remote; `origin` when left out, or the first one. */
  remote?: string;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** The content and the place of a push, as a user should see them before it. */
export interface GitPushPlan {
  /** The branch, here and there. */
  branch: string;
  /** The newest of them, a line each: the short name and the first line of the message. At most 50. */
  commits: string[];
  /** Commits that no known branch of the remote has. */
  count: number;
  /** The commit that is pushed, in hexadecimal. */
  head: string;
  /** The chosen one. */
  remote: string;
  /** The remotes, by name. */
  remotes: string[];
  /** Its address for pushes, as git would use it. A password in it is shown as `***`. */
  url: string;
}

/** Parameters of `git/push`: what the user has seen in the plan. Nothing is pushed when any of it is another one now. */
export interface GitPushParams {
  /** `branch` of the plan. */
  branch: string;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** `head` of the plan. */
  head: string;
  /** `remote` of the plan. */
  remote: string;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
  /** `url` of the plan. */
  url: string;
}

/** Result of `git/push`. */
export interface GitPushResult {
  /** The output of git and the remote, at most 64 KiB. */
  output: string;
}

/** Parameters of `git/pullRequest/plan`. */
export interface GitPullRequestPlanParams {
  /** The remote; `origin` when left out, or the first one. */
  remote?: string;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** The place of a pull request and a draft of its text. */
export interface GitPullRequestPlan {
  /** The branch that they would go to, if the repository knows which one is usual. */
  base?: string;
  /** A text, from the commits. */
  body: string;
  /** The branch with the commits. */
  branch: string;
  /** Whether the remote has the branch as it is here. */
  pushed: boolean;
  /** The remote. */
  remote: string;
  /** The repository there, as `github.com/shop/tea`. */
  repository: string;
  /** A title, from the commits. Empty where there is none. */
  title: string;
  /** The program that would send it: the one that the user is signed in with at this host. */
  tool: GitPullRequestTool;
}

/**
 * Parameters of `git/pullRequest`: what the user has seen and written. Nothing is sent when the branch or the repository is
 * another one now.
 */
export interface GitPullRequestParams {
  /** The branch that the commits should go to. */
  base: string;
  /** The text, at most 60 KiB. */
  body: string;
  /** `branch` of the plan. */
  branch: string;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** `remote` of the plan. */
  remote: string;
  /** `repository` of the plan. */
  repository: string;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
  /** The title, 1 to 500 bytes. */
  title: string;
}

/** Result of `git/pullRequest`. */
export interface GitPullRequestResult {
  /** The output of the program, at most 64 KiB. */
  output: string;
  /** The address of the pull request, if the output names one. */
  url?: string;
}

/** Parameters of `workspace/files/find`. */
export interface WorkspaceFilesFindParams {
  /** Most files to answer, 1 to 100; 50 when left out. */
  limit?: number;
  /** A part of the path, without regard to case; empty for the first files. */
  query: string;
}

/** Result of `workspace/files/find`. */
export interface WorkspaceFilesFindResult {
  /** Those with the query in their own name first, then by their paths. */
  files: WorkspaceFile[];
}

/** Parameters of `workspace/files/list`. */
export interface WorkspaceFilesListParams {
  /** The directory, relative to the folder; the folder itself when left out. */
  path?: string;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** Result of `workspace/files/list`. */
export interface WorkspaceFilesListResult {
  /** Directories first, then by name. At most 2,000. Those of git and of the server are left out. */
  entries: WorkspaceFilesEntry[];
  /** Whether there are more. */
  truncated: boolean;
}

/** Parameters of `workspace/files/read`. */
export interface WorkspaceFilesReadParams {
  /** The file, relative to the folder, or absolute and in it. */
  path: string;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** Result of `workspace/files/read`. */
export interface WorkspaceFilesReadResult {
  /** Its absolute path on the server's machine, without links. */
  absolutePath: string;
  /** Its bytes in base64, where it is a picture of at most 5 MiB. */
  data?: string;
  /** The media type of a picture, by its bytes. */
  mediaType?: string;
  /** Its path relative to the folder. */
  path: string;
  /** Its size, bytes. */
  size: number;
  /** Its text, of which at most the first MiB; absent where it is no UTF-8. */
  text?: string;
  /** Whether `text` is only the beginning. */
  truncated: boolean;
}

/** Parameters of `workspace/files/grep`. */
export interface WorkspaceFilesGrepParams {
  /** The text to find, 1 to 1,000 bytes; without regard to case if it has no capital letter. */
  query: string;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** Result of `workspace/files/grep`. */
export interface WorkspaceFilesGrepResult {
  /** The lines, by path and number. At most 500. Files that ignore files leave out are not searched. */
  matches: WorkspaceFilesMatch[];
  /** Whether the search ended early: more matches, more files than 50,000, or 10 seconds. */
  truncated: boolean;
}

/** Parameters of `workspace/files/write`. */
export interface WorkspaceFilesWriteParams {
  /** Makes a repeated request safe. */
  clientRequestId?: string;
  /** Its bytes in base64, at most 2 MiB of them. */
  data: string;
  /** The new file, relative to the folder, or absolute and in it. Its directories are made. */
  path: string;
  /** The Thread whose folder is meant; the workspace when left out. */
  threadId?: string;
}

/** Result of `workspace/files/write`. */
export interface WorkspaceFilesWriteResult {
  /** Its path relative to the folder. */
  path: string;
}

/** Params of `worktree/createAndStart`: those of `thread/start`, and of the worktree. */
export interface WorktreeCreateAndStartParams {
  /** The branch, tag or commit to start from. Default: the commit that is checked out. */
  baseRef?: string;
  /** The branch to make. Default: `bobbin/` and the worktree's id. */
  branchName?: string;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Its first configuration, without `workspaceOverride`. */
  config?: ThreadConfiguration;
  /** Whether uncommitted changes and new files are copied into it. Default `true`. */
  copyDirtyChanges?: boolean;
  /** Its title; blank means none. */
  displayName?: string;
  /** Tools that this connection serves. */
  dynamicTools?: DynamicToolSpec[];
  /** The supplier of the model's history. Default `server`. */
  historyMode?: HistoryMode;
  /** The starter; `channelName` must not be blank. */
  identity: SessionIdentity;
  /** Refused: the worktree lies in the server's state directory. */
  path?: string;
}

/** Result of `worktree/createAndStart` and `worktree/createAndFork`. */
export interface WorktreeCreateResult {
  /** The new Thread, without Turns. */
  thread: Thread;
  /** Its worktree. */
  worktree: Worktree;
}

/** Params of `worktree/createAndFork`: those of `thread/fork`, and of the worktree. */
export interface WorktreeCreateAndForkParams {
  /** The branch, tag or commit to start from. Default: the commit that is checked out. */
  baseRef?: string;
  /** The branch to make. Default: `bobbin/` and the worktree's id. */
  branchName?: string;
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Its configuration, without `workspaceOverride`. Default: the original's. */
  config?: ThreadConfiguration;
  /** Whether uncommitted changes and new files are copied into it. Default `true`. */
  copyDirtyChanges?: boolean;
  /** Its title. Default: the original's with a count. */
  displayName?: string;
  /** Tools that this connection serves. */
  dynamicTools?: DynamicToolSpec[];
  /** The end of the copy. Absent: after the newest Turn. A running Turn is copied as cancelled. */
  forkPoint?: ThreadForkPoint;
  /** Its starter. Default: the original's. */
  identity?: SessionIdentity;
  /** Refused: the worktree lies in the server's state directory. */
  path?: string;
  /** The Thread to copy. Its folder is the one whose uncommitted changes are copied. */
  sourceThreadId: string;
}

/** Params of `worktree/list`. */
export interface WorktreeListParams {
  /** Only worktrees of this user's Threads. */
  identity?: SessionIdentity;
  /** Whether to list worktrees whose Thread is deleted, too. Default `false`. */
  includeOrphans?: boolean;
}

/** Result of `worktree/list`. */
export interface WorktreeListResult {
  /** The worktrees, oldest first. */
  data: WorktreeStatus[];
}

/** Params of `worktree/status`. */
export interface WorktreeStatusParams {
  /** The Thread. */
  threadId: string;
}

/** Result of `worktree/status`: the status by itself, and as a member. */
export interface WorktreeStatusResult {
  /** Their number. */
  aheadCount: number;
  /** The branch that is checked out; the one that was made with it if that is unknown. */
  branchName: string;
  /** Whether the directory exists. */
  exists: boolean;
  /** Whether there are commits that the commit lacks from which it started. */
  hasCommitsAheadOfBase: boolean;
  /** Whether files have changed since the last commit, or are new. */
  hasUncommittedChanges: boolean;
  /** The commit that is checked out, in hexadecimal. */
  head?: string;
  /** Whether git takes it for a worktree. */
  isGitWorktree: boolean;
  /** Its directory. */
  path: string;
  /** The status. */
  status: WorktreeStatus;
  /** The Thread that it was made for. */
  threadId: string;
  /** The worktree as it was made. */
  worktree: Worktree;
}

/** Params of `worktree/apply`. */
export interface WorktreeApplyParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** The Thread whose worktree is meant. */
  threadId: string;
}

/** Result of `worktree/apply`. */
export interface WorktreeApplyResult {
  /** The number of files that have changed in the workspace. */
  files: number;
}

/** Params of `worktree/remove`. */
export interface WorktreeRemoveParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Whether to remove it with uncommitted changes or commits of its own. Default `false`. */
  force?: boolean;
  /** The Thread that it was made for. It may be deleted. */
  threadId: string;
}

/** Result of `worktree/remove`. */
export interface WorktreeRemoveResult {
  /** Whether its branch is still there: it has commits of its own. */
  branchRemains: boolean;
}

/** Parameters of `shell/open`. */
export interface ShellOpenParams {
  /** Extension: makes a repeated request safe. */
  clientRequestId?: string;
  /** Columns of its terminal, 1 to 1,000. */
  columns: number;
  /** Rows of its terminal, 1 to 1,000. */
  rows: number;
  /** The Thread in whose folder it starts; the workspace when left out. */
  threadId?: string;
}

/** Result of `shell/open`. `shell/output` has what the shell writes, from its beginning. */
export interface ShellOpenResult {
  /** The shell. */
  shell: ShellInfo;
}

/** Parameters of `shell/list`. */
export type ShellListParams = Record<string, unknown>;

/** Result of `shell/list`. */
export interface ShellListResult {
  /** The open shells, the oldest first. */
  shells: ShellInfo[];
}

/** Parameters of `shell/attach`. */
export interface ShellAttachParams {
  /** The shell. */
  id: string;
}

/** Result of `shell/attach`. `shell/output` has what the shell writes after that. */
export interface ShellAttachResult {
  /** The newest 256 KiB of what it has written, in base64. A client clears the screen and shows them. */
  dataBase64: string;
  /** The count of all bytes that it has written, up to the end of these. */
  position: number;
  /** The shell. */
  shell: ShellInfo;
}

/** Parameters of `shell/detach`. */
export interface ShellDetachParams {
  /** The shell. */
  id: string;
}

/** Result of `shell/detach`. */
export type ShellDetachResult = Record<string, unknown>;

/** Parameters of `shell/write`. */
export interface ShellWriteParams {
  /**
   * Whether the terminal itself wrote them, as an answer to a question in the output, and not its user. One attached
   * connection answers: the one that opened the shell or typed last. Answers of others are dropped.
   */
  answer?: boolean;
  /** The typed bytes, in base64: 64 KiB at most. */
  dataBase64: string;
  /** The shell. */
  id: string;
}

/** Result of `shell/write`. */
export type ShellWriteResult = Record<string, unknown>;

/** Parameters of `shell/resize`. */
export interface ShellResizeParams {
  /** Columns of its terminal, 1 to 1,000. */
  columns: number;
  /** The shell. */
  id: string;
  /** Rows of its terminal, 1 to 1,000. */
  rows: number;
}

/** Result of `shell/resize`. */
export type ShellResizeResult = Record<string, unknown>;

/** Parameters of `shell/close`. */
export interface ShellCloseParams {
  /** The shell. */
  id: string;
}

/** Result of `shell/close`. */
export type ShellCloseResult = Record<string, unknown>;

/** Parameters of `alert/test`. */
export interface AlertTestParams {
  /** The client's name for this request. A repetition sends no second alert. */
  clientRequestId?: string;
}

/** What clients ask. */
export interface Requests {
  /** Opens the connection. Must be the first request. */
  initialize: { params: InitializeParams; result: InitializeResult };
  /** Creates a Thread. */
  "thread/start": { params: ThreadStartParams; result: ThreadResult };
  /** Makes a Thread active and binds its client-side tools to this connection. */
  "thread/resume": { params: ThreadResumeParams; result: ThreadResult };
  /** Lists Threads, latest activity first. */
  "thread/list": { params: ThreadListParams; result: ThreadListResult };
  /** Reads a Thread without changing anything. */
  "thread/read": { params: ThreadReadParams; result: ThreadReadResult };
  /** Lists the Turns of a Thread without their Items, page by page, in either order. */
  "thread/turns/list": { params: ThreadTurnsListParams; result: ThreadTurnsListResult };
  /** Lists the Items of a Thread or of one Turn, page by page, in either order. */
  "thread/items/list": { params: ThreadItemsListParams; result: ThreadItemsListResult };
  /** Starts the delivery of a Thread's events to this connection. */
  "thread/subscribe": { params: ThreadSubscribeParams; result: ThreadSubscribeResult };
  /** Ends that delivery. */
  "thread/unsubscribe": { params: ThreadUnsubscribeParams; result: EmptyResult };
  /** Gives a Thread another title. */
  "thread/rename": { params: ThreadRenameParams; result: EmptyResult };
  /** Deletes a Thread and its subagents for good. */
  "thread/delete": { params: ThreadTargetParams; result: EmptyResult };
  /** Keeps new Turns from starting. A running one goes on. */
  "thread/pause": { params: ThreadTargetParams; result: EmptyResult };
  /** Puts a Thread and its subagents away. */
  "thread/archive": { params: ThreadTargetParams; result: EmptyResult };
  /** Takes them out again. */
  "thread/unarchive": { params: ThreadTargetParams; result: EmptyResult };
  /** Sets the agent's mode, from the next Turn on. */
  "thread/mode/set": { params: ThreadModeSetParams; result: EmptyResult };
  /** Replaces a Thread's configuration, from the next Turn on. */
  "thread/config/update": { params: ThreadConfigUpdateParams; result: EmptyResult };
  /** Compacts the conversation and answers when that is over. The compaction is a Turn. */
  "thread/compact/start": { params: ThreadTargetParams; result: ThreadCompactResult };
  /** Stops a compaction. Does nothing when there is none. */
  "thread/maintenance/interrupt": { params: ThreadTargetParams; result: EmptyResult };
  /** Drops Turns from the end of the conversation. Files stay as they are. */
  "thread/rollback": { params: ThreadRollbackParams; result: ThreadRollbackResult };
  /** Lists the channels that Threads may come from. */
  "channel/list": { params: EmptyParams; result: ChannelListResult };
  /** Starts a Turn. */
  "turn/start": { params: TurnStartParams; result: TurnStartResult };
  /** Runs a command that the user typed, as a Turn without a model: in the sandbox, without a question. */
  "thread/shellCommand": { params: ThreadShellCommandParams; result: TurnStartResult };
  /** Puts an input into the queue. */
  "turn/enqueue": { params: TurnEnqueueParams; result: TurnEnqueueResult };
  /** Asks the running Turn to stop. It has stopped when `turn/cancelled` comes. */
  "turn/interrupt": { params: TurnInterruptParams; result: EmptyResult };
  /** Takes an input out of the queue. */
  "turn/queue/remove": { params: TurnQueueRemoveParams; result: TurnQueueResult };
  /** Sets the order of the queue. */
  "turn/queue/reorder": { params: TurnQueueReorderParams; result: TurnQueueResult };
  /** Gives an input of the queue to the running Turn, or takes it back. */
  "turn/queue/update": { params: TurnQueueUpdateParams; result: TurnQueueResult };
  /** Gives a queued or a new input to the running Turn as guidance. */
  "turn/steer": { params: TurnSteerParams; result: TurnSteerResult };
  /** Lists the subagents of a Thread. */
  "subagent/children/list": { params: SubagentChildrenListParams; result: SubagentChildrenListResult };
  /** Gives a subagent a message, which its next model call gets. */
  "subagent/sendMessage": { params: SubagentMessageParams; result: SubagentTargetResult };
  /** Gives a subagent another task. */
  "subagent/followupTask": { params: SubagentFollowupParams; result: SubagentTargetResult };
  /** Closes a subagent; what it does is stopped. */
  "subagent/close": { params: SubagentCloseParams; result: SubagentTargetResult };
  /** Opens a subagent again. Nothing is given to it. */
  "subagent/resume": { params: SubagentTargetParams; result: SubagentTargetResult };
  /** Finds Threads by what was said in them. Extension: with `query`, places in their history. */
  "thread/search": { params: ThreadSearchParams; result: ThreadSearchAnswer };
  /** Starts a Thread with a copy of another's conversation. */
  "thread/fork": { params: ThreadForkParams; result: ThreadResult };
  /** Extension: undoes what a Turn did to files. The conversation stays. */
  "turn/revert": { params: TurnRevertParams; result: TurnRevertResult };
  /** Extension: reads what a Turn changed in files. */
  "turn/diff/read": { params: TurnDiffReadParams; result: TurnDiffReadResult };
  /** Extension: reads a picture that was handed in as bytes. */
  "turn/picture/read": { params: TurnPictureReadParams; result: TurnPictureReadResult };
  /** Lists background terminals. */
  "terminal/list": { params: TerminalListParams; result: TerminalsResult };
  /** Reads a background terminal. */
  "terminal/read": { params: TerminalReadParams; result: TerminalResult };
  /** Types into a background terminal. */
  "terminal/write": { params: TerminalWriteParams; result: TerminalResult };
  /** Ends a background terminal. */
  "terminal/stop": { params: TerminalStopParams; result: TerminalResult };
  /** Removes a Thread's background terminals. */
  "terminal/clean": { params: TerminalCleanParams; result: TerminalsResult };
  /** Extension: forwards a port of a Thread's commands to the machine's loopback, for as long as the connection is there. */
  "forward/start": { params: ForwardStartParams; result: ForwardResult };
  /** Extension: lists forwarded ports. */
  "forward/list": { params: ForwardListParams; result: ForwardListResult };
  /** Extension: ends a forward, with its connections. */
  "forward/stop": { params: ForwardStopParams; result: ForwardStopResult };
  /** Lists the configurations of MCP servers that are in effect. */
  "mcp/list": { params: EmptyParams; result: McpListResult };
  /** Returns the configuration of one MCP server. */
  "mcp/get": { params: McpGetParams; result: McpServerResult };
  /** Adds an MCP server to a configuration file, or replaces it there. It starts in the background. */
  "mcp/upsert": { params: McpUpsertParams; result: McpServerResult };
  /** Removes an MCP server from a configuration file. */
  "mcp/remove": { params: McpRemoveParams; result: McpRemoveResult };
  /** Tells how MCP servers are. */
  "mcp/status/list": { params: EmptyParams; result: McpStatusListResult };
  /** Starts an MCP server for a moment and counts its tools. */
  "mcp/test": { params: McpTestParams; result: McpTestResult };
  /** Extension: starts a login at an MCP server over HTTP. Its end is `mcp/login/completed`. */
  "mcp/login": { params: McpLoginParams; result: McpLoginResult };
  /** Extension: removes what a login at an MCP server has given. */
  "mcp/logout": { params: McpLoginParams; result: McpLogoutResult };
  /** Lists the tools of MCP servers that run, page by page. */
  "mcp/tool/list": { params: McpPageParams; result: McpToolListResult };
  /** Lists the resources of MCP servers that run, page by page. */
  "mcp/resource/list": { params: McpPageParams; result: McpResourceListResult };
  /** Reads a resource of an MCP server as text. */
  "mcp/resource/read": { params: McpResourceReadParams; result: McpTextResult };
  /** Lists the prompts of MCP servers that run, page by page. */
  "mcp/prompt/list": { params: McpPageParams; result: McpPromptListResult };
  /** Returns a prompt of an MCP server, filled in. */
  "mcp/prompt/get": { params: McpPromptGetParams; result: McpTextResult };
  /** Lists MCP servers with their tools and resources, page by page. */
  "mcpServerStatus/list": { params: McpServerStatusListParams; result: McpServerStatusListResult };
  /** Calls a tool of an MCP server, outside of any Turn. */
  "mcpServer/tool/call": { params: McpServerToolCallParams; result: McpServerToolCallResult };
  /** Reads a resource of an MCP server. */
  "mcpServer/resource/read": { params: McpServerResourceReadParams; result: McpServerResourceReadResult };
  /** Reads the configuration files again, and starts, restarts or ends the MCP servers that have changed. */
  "config/mcpServer/reload": { params: EmptyParams; result: EmptyResult };
  /** Starts a login at an MCP server over HTTP. Its end is `mcpServer/oauthLogin/completed`. */
  "mcpServer/oauth/login": { params: McpServerOauthLoginParams; result: McpServerOauthLoginResult };
  /** Lists the skills. */
  "skills/list": { params: SkillsListParams; result: SkillsListResult };
  /** Returns a skill's file as it is. */
  "skills/read": { params: SkillParams; result: SkillsReadResult };
  /** Returns what an agent reads of a skill. */
  "skills/view": { params: SkillParams; result: SkillsViewResult };
  /** Takes back the workspace's adaptation of a skill. There are none, so every skill is the original. */
  "skills/restoreOriginal": { params: SkillParams; result: SkillsRestoreOriginalResult };
  /** Switches a skill on or off in this workspace. */
  "skills/setEnabled": { params: SkillsSetEnabledParams; result: SkillsSetEnabledResult };
  /** Removes a skill of the workspace or the user from the disk. */
  "skills/uninstall": { params: SkillParams; result: SkillsUninstallResult };
  /** Lists the slash commands. */
  "command/list": { params: CommandListParams; result: CommandListResult };
  /** Runs a slash command, or returns the text of a custom one. */
  "command/execute": { params: CommandExecuteParams; result: CommandExecuteResult };
  /** Suggests a commit message for changed files. */
  "workspace/commitMessage/suggest": { params: CommitMessageSuggestParams; result: CommitMessageSuggestResult };
  /** Suggests first inputs. */
  "welcome/suggestions": { params: WelcomeSuggestionsParams; result: WelcomeSuggestionsResult };
  /** Lists the models that a Thread can be given. */
  "model/list": { params: ModelListParams; result: ModelListResult };
  /** Extension: reads what a Thread uses whose configuration names nothing else. */
  "workspace/defaults/read": { params: EmptyParams; result: WorkspaceDefaultsResult };
  /** Lists the providers of models, without keys. */
  "provider/list": { params: EmptyParams; result: ProviderListResult };
  /** Adds a provider. */
  "provider/create": { params: ProviderEditParams; result: ProviderResult };
  /** Changes a provider. */
  "provider/update": { params: ProviderEditParams; result: ProviderResult };
  /** Removes a provider. */
  "provider/delete": { params: ProviderDeleteParams; result: ProviderDeleteResult };
  /** Asks a provider for its models, with settings that are not stored. */
  "provider/test": { params: ProviderTestParams; result: ProviderTestResult };
  /** Extension: the server's counters. */
  "server/stats": { params: EmptyParams; result: ServerStatsResult };
  /** Extension: says what would happen to a command, and which rule decides. */
  "policy/explain": { params: PolicyExplainParams; result: PolicyExplainResult };
  /** Extension: lists the rules in force and what is always allowed. */
  "approval/rules/list": { params: EmptyParams; result: ApprovalRulesListResult };
  /** Extension: removes requests from what is always allowed. */
  "approval/rules/remove": { params: ApprovalRulesRemoveParams; result: ApprovalRulesRemoveResult };
  /** Extension: lists who did what, with hashes that show whether an entry is missing or was changed. */
  "audit/list": { params: AuditListParams; result: AuditListResult };
  /** Extension: removes the oldest entries. An entry says so. */
  "audit/cut": { params: AuditCutParams; result: EmptyResult };
  /** Lists the settings that configuration files can have. Extension: with what the files say, secrets left out. */
  "workspace/config/schema": { params: EmptyParams; result: WorkspaceConfigSchemaResult };
  /** Sets or removes settings of the workspace, and returns what the files say then. */
  "workspace/config/update": { params: WorkspaceConfigUpdateParams; result: WorkspaceConfigResult };
  /** The same as `workspace/config/schema`. */
  "config/schema": { params: EmptyParams; result: WorkspaceConfigSchemaResult };
  /** Returns the settings of the files that count, and the file of each. */
  "config/read": { params: ConfigReadParams; result: ConfigReadResult };
  /** Sets or removes a member of a configuration file. */
  "config/value/write": { params: ConfigValueWriteParams; result: ConfigWriteResult };
  /** Sets or removes members of a configuration file, together or not at all. */
  "config/batchWrite": { params: ConfigBatchWriteParams; result: ConfigWriteResult };
  /** Extension: checks the workspace, the configuration and the machine, as `bobbin doctor` does. Changes nothing. */
  "doctor/run": { params: EmptyParams; result: DoctorRunResult };
  /** Extension: says what the folder brings along, and what of it counts. */
  "workspace/trust/get": { params: EmptyParams; result: WorkspaceTrustResult };
  /** Extension: takes the user's word about the folder. */
  "workspace/trust/set": { params: WorkspaceTrustSetParams; result: WorkspaceTrustResult };
  /** Lists the tools that the server brings. Those of MCP servers are in `mcp/tool/list`. */
  "tool/list": { params: ToolListParams; result: ToolListResult };
  /** Lists the extensions in the order of the configuration. */
  "hermes/extension/list": { params: EmptyParams; result: HermesExtensionListResult };
  /** Ends all extensions and starts them again. */
  "hermes/extension/reload": { params: EmptyParams; result: EmptyResult };
  /** Starts or ends an extension until the server ends. */
  "hermes/extension/setEnabled": { params: HermesSetEnabledParams; result: EmptyResult };
  /** Reads the log of an extension. */
  "hermes/extension/logs": { params: HermesLogsParams; result: HermesLogsResult };
  /** Lists the buttons of running extensions. */
  "hermes/toolbar/list": { params: EmptyParams; result: HermesToolbarResult };
  /** Sends a command to the first extension that has it. No extension has it: -32009. */
  "hermes/command/execute": { params: HermesCommandParams; result: EmptyResult };
  /** Opens a file or a new text as the document of a Thread. */
  "hermes/document/open": { params: HermesOpenParams; result: HermesDocument };
  /** Lists the open documents of all Threads. */
  "hermes/document/list": { params: EmptyParams; result: HermesDocumentListResult };
  /** Reads a document in a format. */
  "hermes/document/get": { params: HermesGetParams; result: HermesText };
  /** Replaces parts of the text of a version. */
  "hermes/document/change": { params: HermesChangeParams; result: HermesDocument };
  /** Replaces the message. */
  "hermes/document/set": { params: HermesSetParams; result: HermesDocument };
  /** Sets places by path. */
  "hermes/document/patch": { params: HermesPatchParams; result: HermesPatchResult };
  /** Takes the last change back. */
  "hermes/document/undo": { params: HermesStepParams; result: HermesDocument };
  /** Makes the change again that was taken back last. */
  "hermes/document/redo": { params: HermesStepParams; result: HermesDocument };
  /** Writes a document to its file or to another one. */
  "hermes/document/save": { params: HermesSaveParams; result: HermesDocument };
  /** Closes a document. */
  "hermes/document/close": { params: HermesCloseParams; result: EmptyResult };
  /** Says which Thread the user looks at. */
  "hermes/document/focus": { params: HermesFocusParams; result: EmptyResult };
  /** Compares a document with the schema. */
  "hermes/document/validate": { params: HermesFocusParams; result: HermesFindings };
  /** Returns what is known of the fields of a segment. */
  "hermes/schema/segment": { params: HermesSegmentParams; result: HermesSegment };
  /** Extension: lists the FineCode projects of the workspace, with what is wrong with their configuration. */
  "finecode/project/list": { params: EmptyParams; result: FineCodeProjectListResult };
  /** Extension: lists actions. */
  "finecode/action/list": { params: FineCodeActionListParams; result: FineCodeActionListResult };
  /** Extension: runs an action and answers when it has ended in all projects. */
  "finecode/action/run": { params: FineCodeActionRunParams; result: FineCodeActionRunResult };
  /** Extension: cancels a run of this connection. */
  "finecode/action/cancel": { params: FineCodeActionCancelParams; result: FineCodeActionCancelResult };
  /** Extension: lists the runners that were used. */
  "finecode/runner/list": { params: EmptyParams; result: FineCodeRunnerListResult };
  /** Extension: restarts a runner. */
  "finecode/runner/restart": { params: FineCodeRunnerParams; result: FineCodeRunnerResult };
  /** Extension: stops a runner; its next use starts it. */
  "finecode/runner/stop": { params: FineCodeRunnerParams; result: FineCodeRunnerResult };
  /** Extension: returns the last lines that a runner has printed. */
  "finecode/runner/logs": { params: FineCodeRunnerParams; result: FineCodeRunnerLogsResult };
  /** Extension: lists the paired browsers. */
  "device/list": { params: EmptyParams; result: DeviceListResult };
  /** Extension: makes a code that lets one browser in. */
  "device/invite": { params: DeviceInviteParams; result: DeviceInviteResult };
  /** Extension: takes the secrets of browsers back and ends their connections. */
  "device/revoke": { params: DeviceRevokeParams; result: DeviceListResult };
  /** Lists the external channels of the configuration. */
  "externalChannel/list": { params: EmptyParams; result: ExternalChannelListResult };
  /** Reads the configuration of an external channel. */
  "externalChannel/get": { params: ExternalChannelNameParams; result: ExternalChannelResult };
  /** Adds an external channel to the workspace's configuration, or replaces it. It counts at once. */
  "externalChannel/upsert": { params: ExternalChannelUpsertParams; result: ExternalChannelResult };
  /** Removes an external channel from the workspace's configuration and ends its adapter. */
  "externalChannel/remove": { params: ExternalChannelRemoveParams; result: ExternalChannelRemoveResult };
  /** Returns the newest lines that an adapter of the server has written. */
  "externalChannel/logs": { params: ExternalChannelLogsParams; result: ExternalChannelLogsResult };
  /** Says which external channels have an adapter. */
  "channel/status": { params: EmptyParams; result: ChannelStatusResult };
  /** Extension: sends a message to a chat of an external channel, once. Nothing is queued. */
  "channel/send": { params: ChannelSendParams; result: ChannelSendResult };
  /** Lists the jobs that agents made. */
  "cron/list": { params: CronListParams; result: CronListResult };
  /** Removes a job. A run of it goes on. */
  "cron/remove": { params: CronJobParams; result: CronRemoveResult };
  /** Switches a job on or off. */
  "cron/enable": { params: CronEnableParams; result: CronEnableResult };
  /** Has a job run as soon as there is room. */
  "cron/run": { params: CronJobParams; result: CronRunResult };
  /** Runs what HEARTBEAT.md says, and answers when the run ends. */
  "heartbeat/trigger": { params: HeartbeatTriggerParams; result: HeartbeatTriggerResult };
  /** Lists the tasks. */
  "automation/task/list": { params: AutomationTaskListParams; result: AutomationTaskListResult };
  /** Reads a task. */
  "automation/task/read": { params: AutomationTaskReadParams; result: AutomationTaskReadResult };
  /** Makes a task. One without a schedule runs once, at once. */
  "automation/task/create": { params: AutomationTaskCreateParams; result: AutomationTaskCreateResult };
  /** Has a task run as soon as there is room. */
  "automation/task/run": { params: AutomationTaskParams; result: AutomationTaskResult };
  /** Deletes a task. */
  "automation/task/delete": { params: AutomationTaskParams; result: AutomationOkResult };
  /** Says which Thread a task runs in. */
  "automation/task/updateBinding": { params: AutomationTaskUpdateBindingParams; result: AutomationTaskResult };
  /** Lists the templates. */
  "automation/template/list": { params: AutomationTemplateListParams; result: AutomationTemplateListResult };
  /** Saves a template of the user. */
  "automation/template/save": { params: AutomationTemplateSaveParams; result: AutomationTemplateResult };
  /** Deletes a template of the user. */
  "automation/template/delete": { params: AutomationTemplateDeleteParams; result: AutomationOkResult };
  /** Lists the automations: tasks and cron jobs. */
  "automation/list": { params: AutomationListParams; result: AutomationListResult };
  /** Reads an automation. */
  "automation/read": { params: AutomationReadParams; result: AutomationResult };
  /** Makes an automation. */
  "automation/create": { params: AutomationCreateParams; result: AutomationResult };
  /** Replaces the definition of an automation. */
  "automation/update": { params: AutomationUpdateParams; result: AutomationResult };
  /** Deletes an automation. The Threads of its runs stay. */
  "automation/delete": { params: AutomationParams; result: AutomationOkResult };
  /** Has an automation run as soon as there is room, also one that is paused or completed. */
  "automation/run": { params: AutomationParams; result: AutomationRunResult };
  /** Lists the latest runs of an automation. */
  "automation/runs/list": { params: AutomationReadParams; result: AutomationRunsResult };
  /** Says which runs their user has read of. */
  "automation/runs/read": { params: AutomationRunsReadParams; result: AutomationRunsResult };
  /** Lists definitions to start from. */
  "automation/presets/list": { params: AutomationPresetsListParams; result: AutomationPresetsListResult };
  /** Lists the plugins, and what is wrong with them. */
  "plugin/list": { params: PluginListParams; result: PluginListResult };
  /** Reads a skill of a plugin, even of one that is not in use. */
  "plugin/skill/read": { params: PluginSkillReadParams; result: PluginSkillReadResult };
  /** Installs a new plugin of a folder, for the workspace or for the user, and enables it. */
  "plugin/installLocal": { params: PluginInstallLocalParams; result: PluginWriteResult };
  /** Trusts the present content of a plugin of the workspace, or takes that back. */
  "plugin/setTrusted": { params: PluginSetTrustedParams; result: PluginWriteResult };
  /** Reads one plugin, with what it brings. */
  "plugin/view": { params: PluginParams; result: PluginResult };
  /** Installs a plugin of the catalogue, or of a folder, in the workspace, and enables it. */
  "plugin/install": { params: PluginInstallParams; result: PluginWriteResult };
  /** Removes an installed plugin with its files. Folders that were not installed stay. */
  "plugin/remove": { params: PluginParams; result: PluginWriteResult };
  /** Enables or disables an installed plugin in this workspace. */
  "plugin/setEnabled": { params: PluginSetEnabledParams; result: PluginWriteResult };
  /** Lists the hooks of the user, the workspace and its plugins, and what is wrong with them. */
  "hooks/list": { params: HooksListParams; result: HooksListResult };
  /** Switches a hook in this workspace, or trusts it as it is now. */
  "hooks/setState": { params: HooksSetStateParams; result: HooksListResult };
  /** Trusts the present content of a plugin, and with it its hooks. */
  "hooks/trustPlugin": { params: HooksTrustPluginParams; result: HooksListResult };
  /** Lists the profiles that subagents can have. */
  "subagent/profiles/list": { params: EmptyParams; result: SubagentProfilesListResult };
  /** Adds a profile to the workspace's configuration, or replaces it. It counts at once. */
  "subagent/profiles/upsert": { params: SubagentProfileUpsertParams; result: SubagentProfileResult };
  /** Switches a profile on or off. */
  "subagent/profiles/setEnabled": { params: SubagentProfileEnabledParams; result: SubagentProfileResult };
  /** Removes a profile from the workspace's configuration. */
  "subagent/profiles/remove": { params: SubagentProfileNameParams; result: SubagentProfileRemoveResult };
  /** Sets what is common to all profiles. */
  "subagent/settings/update": { params: SubagentSettingsUpdateParams; result: SubagentSettingsResult };
  /** Sums what all Turns used. */
  "usage/summary": { params: UsageSummaryParams; result: UsageSummaryResult };
  /** Sums what Turns used on each day. */
  "usage/history": { params: UsageHistoryParams; result: UsageHistoryResult };
  /** Lists the Threads that used most. */
  "usage/threads": { params: UsageThreadsParams; result: UsageThreadsResult };
  /** Sums what the Turns of one Thread used, by model. */
  "usage/thread": { params: UsageThreadParams; result: UsageThreadResult };
  /** Says what was used most. */
  "profile/insights": { params: ProfileInsightsParams; result: ProfileInsightsResult };
  /** Lists the other agents that can run Threads: `config.engine` of a Thread names one. */
  "engine/list": { params: EngineListParams; result: EngineListResult };
  /** Extension: says on which branch the workspace is, and which files have changed since the last commit. */
  "git/status": { params: GitStatusParams; result: GitStatusResult };
  /** Extension: compares the files with the last commit, or with where they left another branch. */
  "git/diff": { params: GitDiffParams; result: GitDiffResult };
  /** Extension: lists the branches, the newest first. */
  "git/branches": { params: GitBranchesParams; result: GitBranchesResult };
  /** Extension: commits the changes of some files, and of no others. Hooks of the repository run in the sandbox. */
  "git/commit": { params: GitCommitParams; result: GitCommitResult };
  /** Extension: takes changes of files back, by file or by hunk, or makes them again. A file that has changed since is left alone. */
  "git/apply": { params: GitApplyParams; result: GitApplyResult };
  /** Extension: says where `git/fetch` would read. */
  "git/fetch/plan": { params: GitFetchPlanParams; result: GitFetchPlan };
  /** Extension: fetches the branches of a remote, outside of the sandbox and with the user's keys. A client asks its user first. */
  "git/fetch": { params: GitFetchParams; result: GitFetchResult };
  /** Extension: moves the branch to the commit of its upstream, if it has none of its own. */
  "git/fastForward": { params: GitFastForwardParams; result: GitFastForwardResult };
  /** Extension: says what `git/push` would send, and where to. */
  "git/push/plan": { params: GitPushPlanParams; result: GitPushPlan };
  /** Extension: pushes the branch, never by force, outside of the sandbox and with the user's keys. A client asks its user first. */
  "git/push": { params: GitPushParams; result: GitPushResult };
  /** Extension: says where a pull request of the branch would go, with a draft of its text from the commits. */
  "git/pullRequest/plan": { params: GitPullRequestPlanParams; result: GitPullRequestPlan };
  /** Extension: sends a pull request by `gh` or `glab`, outside of the sandbox and as the user who is signed in there. */
  "git/pullRequest": { params: GitPullRequestParams; result: GitPullRequestResult };
  /** Extension: finds files of the workspace by a part of their path. Ignored files are left out. */
  "workspace/files/find": { params: WorkspaceFilesFindParams; result: WorkspaceFilesFindResult };
  /** Extension: lists a directory. */
  "workspace/files/list": { params: WorkspaceFilesListParams; result: WorkspaceFilesListResult };
  /** Extension: reads a text or a picture. Files that the rules refuse the agent, or ask about, are refused. */
  "workspace/files/read": { params: WorkspaceFilesReadParams; result: WorkspaceFilesReadResult };
  /** Extension: finds lines of files by their text. */
  "workspace/files/grep": { params: WorkspaceFilesGrepParams; result: WorkspaceFilesGrepResult };
  /** Extension: puts a new file into the folder. One that is there stays as it is. */
  "workspace/files/write": { params: WorkspaceFilesWriteParams; result: WorkspaceFilesWriteResult };
  /** Makes a worktree on a branch of its own, and a Thread that works in it. */
  "worktree/createAndStart": { params: WorktreeCreateAndStartParams; result: WorktreeCreateResult };
  /** Makes a worktree on a branch of its own, and a copy of a Thread that works in it. */
  "worktree/createAndFork": { params: WorktreeCreateAndForkParams; result: WorktreeCreateResult };
  /** Lists the worktrees of Threads with their state. */
  "worktree/list": { params: WorktreeListParams; result: WorktreeListResult };
  /** Returns the state of a Thread's worktree: whether it exists, and what is not committed or not in its base. */
  "worktree/status": { params: WorktreeStatusParams; result: WorktreeStatusResult };
  /** Extension: makes in the workspace what a Thread has changed in its worktree, as uncommitted changes. */
  "worktree/apply": { params: WorktreeApplyParams; result: WorktreeApplyResult };
  /** Extension: removes the worktree of a Thread, and its branch if that has no commits of its own. */
  "worktree/remove": { params: WorktreeRemoveParams; result: WorktreeRemoveResult };
  /** Extension: opens the user's shell in a terminal, outside of the sandbox, in the workspace's folder or that of a Thread. The connection is attached to it. */
  "shell/open": { params: ShellOpenParams; result: ShellOpenResult };
  /** Extension: lists the open shells. */
  "shell/list": { params: ShellListParams; result: ShellListResult };
  /** Extension: returns what a shell has written recently, and sends this connection what it writes from then on. */
  "shell/attach": { params: ShellAttachParams; result: ShellAttachResult };
  /** Extension: sends this connection no output of a shell any more. */
  "shell/detach": { params: ShellDetachParams; result: ShellDetachResult };
  /** Extension: types into a shell. Answered once the terminal has taken all of it. */
  "shell/write": { params: ShellWriteParams; result: ShellWriteResult };
  /** Extension: sets the size of a shell's terminal. The last one counts for all connections. */
  "shell/resize": { params: ShellResizeParams; result: ShellResizeResult };
  /** Extension: ends a shell with everything that it started. Answered once all is gone. */
  "shell/close": { params: ShellCloseParams; result: ShellCloseResult };
  /** Extension: sends an alert that shows whether alerts arrive. Answered once it has arrived, or with the reason. */
  "alert/test": { params: AlertTestParams; result: EmptyResult };
}

/** Params of `$/cancelRequest`. */
export interface CancelRequestParams {
  /** The id of the request to cancel, as it was sent. */
  id: unknown;
}

/** A window. */
export interface HermesWindowClosedParams {
  /** The window. */
  windowId: string;
}

/** What clients say without asking. */
export interface ClientNotifications {
  /** Ends the handshake. */
  initialized: EmptyParams;
  /** Gives up a request that is still running. */
  "$/cancelRequest": CancelRequestParams;
  /** The request of the same name, without an answer: some clients send it so after a reconnect. */
  "thread/subscribe": ThreadSubscribeParams;
  /** The user has closed a window. */
  "hermes/ui/windowClosed": HermesWindowClosedParams;
}

/** Params of `thread/started`. */
export interface ThreadStartedNotification {
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The new Thread. */
  thread: Thread;
}

/** Params of `thread/resumed`. */
export interface ThreadResumedNotification {
  /** Display name of who resumed it. */
  resumedBy: string;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  thread: Thread;
}

/** Params of `thread/renamed`. */
export interface ThreadRenamedNotification {
  /** Its new title. */
  displayName: string;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
}

/** Params of `thread/deleted`. */
export interface ThreadDeletedNotification {
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread that is gone. */
  threadId: string;
}

/** Params of `thread/statusChanged`. */
export interface ThreadStatusChangedNotification {
  /** The present status. */
  newStatus: ThreadStatus;
  /** The earlier status. */
  previousStatus: ThreadStatus;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
}

/** Params of `thread/runtimeChanged`. */
export interface ThreadRuntimeChangedNotification {
  /** Its present activity. */
  runtime: ThreadRuntime;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
}

/** Params of `thread/archived`, `thread/unarchived`: today's names for two of the changes that `thread/statusChanged` says. */
export interface ThreadArchivedNotification {
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
}

/** Params of `thread/updated`: a Thread has another configuration. */
export interface ThreadUpdatedNotification {
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread, without its Turns. */
  thread: Thread;
}

/** Params of `thread/queue/updated`. */
export interface ThreadQueueUpdatedNotification {
  /** The whole queue. */
  queuedInputs: QueuedTurnInput[];
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
}

/** Extension: a Thread's configuration has changed; `thread/read` returns it. Only to clients with `eventCursors`. */
export interface ThreadConfiguredNotification {
  /** Number of this message. */
  seq: number;
  /** The Thread. */
  threadId: string;
}

/** Extension: Turns were dropped from the end of the conversation. Only to clients with `eventCursors`. */
export interface ThreadRolledBackNotification {
  /** The oldest Turn that was dropped; every later one is gone too. */
  firstTurnId: string;
  /** How many were dropped. */
  numTurns: number;
  /** Number of this message. */
  seq: number;
  /** The Thread. */
  threadId: string;
}

/** Extension: params of `thread/synced`, the end of a replay. Everything after it is live. */
export interface ThreadSyncedNotification {
  /** The last event of the replay. */
  seq: number;
  /** The Thread. */
  threadId: string;
}

/** Params of `turn/started`, with the user's Item in the Turn, and of `turn/completed`, with all Items. */
export interface TurnNotification {
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turn: Turn;
  /** The Turn's id. */
  turnId: string;
}

/** Params of `turn/failed`. */
export interface TurnFailedNotification {
  /** Why, as a sentence for the user. */
  error: string;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn; its `error` has the same text. */
  turn: Turn;
  /** The Turn's id. */
  turnId: string;
}

/** Params of `turn/cancelled`. */
export interface TurnCancelledNotification {
  /** Why, as a sentence for the user. */
  reason: string;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turn: Turn;
  /** The Turn's id. */
  turnId: string;
}

/** Params of `turn/diff/updated`: cumulative over the Turn. */
export interface TurnDiffUpdatedNotification {
  /** Unified diff of all changes, git style, paths relative to the workspace; empty when all was undone. */
  diff: string;
  /** The changed files; complete even when `diff` was cut. */
  files?: DiffFile[];
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** `true` when `diff` was cut. */
  truncated?: boolean;
  /** The Turn. */
  turnId: string;
}

/** Params of `turn/reverted`: to every client. */
export interface TurnRevertedNotification {
  /** The files that were put back. */
  files: RevertedFile[];
  /** What the Turn may have changed that was not restored, as sentences. */
  notes?: string[];
  /** `true` where the Turn's changes were made again; left out where they were undone. */
  redone?: boolean;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Params of `turn/waiting`. What the line says is over with the next message of the Turn. */
export interface TurnWaitingNotification {
  /** A status line, as "Provider overloaded. Retrying in 1 s (2 of 4)". */
  message: string;
  /** Extension: the number of the last event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Params of `plan/updated`: always the complete plan. */
export interface PlanUpdatedNotification {
  /** The plan itself, Markdown. */
  content: string;
  /** A paragraph. */
  overview: string;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread whose plan it is. */
  threadId: string;
  /** One line. */
  title: string;
  /** The steps. */
  todos: PlanTodo[];
}

/** Params of `item/started` and `item/completed`. */
export interface ItemNotification {
  /** The Item; final in `item/completed`. */
  item: Item;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Params of `item/agentMessage/delta`. */
export interface AgentMessageDeltaNotification {
  /** The text to append. */
  delta: string;
  /** Always the same in this notification. */
  deltaKind: DeltaKind;
  /** The Item. */
  itemId: string;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Params of `item/reasoning/delta`. */
export interface ReasoningDeltaNotification {
  /** The text to append. */
  delta: string;
  /** Always the same in this notification. */
  deltaKind: DeltaKind;
  /** The Item. */
  itemId: string;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Params of `item/toolCall/argumentsDelta`. */
export interface ToolCallArgumentsDeltaNotification {
  /** The call; sent every time, since some clients match by nothing else. */
  callId?: string;
  /** The JSON text to append; not parseable before the end. */
  delta: string;
  /** Always `toolCallArguments`. */
  deltaKind: DeltaKind;
  /** The Item. */
  itemId: string;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The tool; sent every time, though the protocol does not ask for it. */
  toolName?: string;
  /** The Turn. */
  turnId: string;
}

/** Params of `item/commandExecution/outputDelta`. Has no `deltaKind`. */
export interface CommandOutputDeltaNotification {
  /** The output to append. */
  delta: string;
  /** The Item. */
  itemId: string;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Params of `item/approval/resolved`. */
export interface ApprovalResolvedNotification {
  /** Extension: the name of the client whose user answered. Absent where no client did. */
  answeredBy?: string;
  /** The `approvalResponse` Item. */
  item: Item;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Params of `item/tool/requestUserInput/resolved`: it is answered, or nobody waits for the answer any more. */
export interface UserInputResolvedNotification {
  /** The `userInputResponse` Item. */
  item: Item;
  /** The request. */
  requestId: string;
  /** Number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Params of `item/usage/delta`: one call of the model. */
export interface UsageDeltaNotification {
  /** Those of `inputTokens` that the provider had in a cache. */
  cachedInputTokens?: number;
  /** The window now. */
  contextUsage?: ContextUsage;
  /** What this call cost, in the currency of the prices, where a price is known. */
  cost?: number;
  /** Tokens sent in this call. */
  inputTokens: number;
  /** Tokens received in this call. */
  outputTokens: number;
  /** Those of `outputTokens` that are reasoning. */
  reasoningOutputTokens?: number;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** Tokens in the window now. */
  totalInputTokens?: number;
  /** Tokens received in this Turn so far. */
  totalOutputTokens?: number;
  /** The Turn. */
  turnId: string;
}

/** Params of `system/event`. */
export interface SystemEventNotification {
  /** The channel, with `channelRejected`. */
  channelName?: string;
  /** The kind of event. */
  kind: SystemEventKind;
  /** A sentence for the user. */
  message?: string;
  /** Free part of the window, 0.0 to 1.0. */
  percentLeft?: number;
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread; absent with `channelRejected` and `workspaceNotTrusted` only. */
  threadId?: string;
  /** Tokens in the window. */
  tokenCount?: number;
  /** The Turn; consolidation may have none. */
  turnId?: string;
}

/** Params of `system/jobResult`. */
export interface JobResultNotification {
  /** Its error. */
  error?: string;
  /** The job's id. */
  jobId?: string;
  /** The job's name. */
  jobName?: string;
  /** Its output. */
  result?: string;
  /** The service that ran the job. */
  source: JobSource;
  /** The Thread it ran in. */
  threadId?: string;
  /** Its token usage. */
  tokenUsage?: JobTokenUsage;
}

/** Params of `subagent/progress`: a full snapshot. */
export interface SubagentProgressNotification {
  /** One entry for each child. */
  entries: SubagentProgress[];
  /** Extension: the number of the event, for clients that declared `eventCursors`. */
  seq?: number;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Params of `subagent/graphChanged`. */
export interface SubagentGraphChangedNotification {
  /** The Thread that was started. */
  childThreadId: string;
  /** The Thread that started the other. */
  parentThreadId: string;
}

/** Params of `terminal/started`, `terminal/completed`, `terminal/stalled` and `terminal/cleaned`. */
export interface TerminalNotification {
  /** The terminal. */
  terminal: BackgroundTerminal;
}

/** Params of `terminal/outputDelta`. */
export interface TerminalOutputDeltaNotification {
  /** The output to append. */
  delta: string;
  /** The terminal. */
  terminal: BackgroundTerminal;
}

/** Params of `forward/ended`. */
export interface ForwardEndedNotification {
  /** The forward. */
  forward: Forward;
}

/** Params of `mcp/status/updated`. */
export interface McpStatusUpdatedNotification {
  /** The server as it is now. */
  server: McpServerStatus;
}

/** Params of `mcp/login/completed`. */
export interface McpLoginCompletedNotification {
  /** What went wrong, as a sentence for the user. */
  errorMessage?: string;
  /** The server. */
  name: string;
  /** Whether the user is logged in. The server is started then. */
  success: boolean;
}

/** Params of `workspace/configChanged` (05 §1). */
export interface WorkspaceConfigChangedNotification {
  /** When. */
  changedAt: string;
  /** The parts that are different now. */
  regions: string[];
  /** The method that caused the change. */
  source: string;
}

/** Params of `mcpServer/startupStatus/updated`. */
export interface McpServerStartupStatusUpdatedNotification {
  /** How its user is known there, as far as the change says it. */
  authStatus?: McpAuthStatus;
  /** The problem, as a sentence for the user. */
  error: string | null;
  /** Always `null`; `mcpServerStatus/list` has it. */
  failureReason: McpFailureReason | null;
  /** The server. */
  name: string;
  /** How its start goes. */
  status: McpStartupStatus;
  /** Always `null`: every Thread has the servers of the workspace. */
  threadId: string | null;
  /** How it is reached. */
  transport: McpTransport;
}

/** Params of `mcpServer/oauthLogin/completed`. */
export interface McpServerOauthLoginCompletedNotification {
  /** The problem, as a sentence for the user. */
  error?: string;
  /** The server. */
  name: string;
  /** Whether the user is logged in. The server is started then. */
  success: boolean;
  /** Always `null`: a login counts for every Thread. */
  threadId: string | null;
}

/**
 * Params of `workspace/trustChanged`: the user has decided about the folder. `workspace/trust/get` returns the
 * decision.
 */
export interface WorkspaceTrustChangedNotification {
  /** Whether the folder is trusted now. */
  trusted: boolean;
}

/** Params of `hermes/toolbar/changed`: read the list again. */
export type HermesToolbarChanged = Record<string, unknown>;

/** Params of `hermes/document/changed`. */
export interface HermesDocumentChanged {
  /** The document. */
  document: HermesDocument;
  /** The author of the change. */
  origin: HermesOrigin;
}

/** Parameters of `finecode/action/progress`. */
export interface FineCodeProgressNotification {
  /** `begin`, `report` or `end`. */
  kind: string;
  /** The present step of the work. */
  message?: string;
  /** How much is done. */
  percentage?: number;
  /** The run's name. */
  runId: string;
  /** The work that is in progress; with `begin`. */
  title?: string;
}

/** Parameters of `finecode/action/partialResult`. */
export interface FineCodePartialResultNotification {
  /** The directory of the project. */
  projectPath: string;
  /** The part, of the action's own type. */
  result?: unknown;
  /** The run's name. */
  runId: string;
  /** The part as text. */
  text?: string;
}

/** Parameters of `finecode/runner/updated`. */
export interface FineCodeRunnerUpdatedNotification {
  /** The runner as it is now. */
  runner: FineCodeRunner;
}

/** Parameters of `finecode/message`. */
export interface FineCodeMessageNotification {
  /** The address at which the runner waits for a debugger. */
  debugger?: string;
  /** The environment. */
  env: string;
  /** `info`, `warning` or `error`. */
  level: string;
  /** The directory of the project. */
  projectPath: string;
  /** The text of the message. */
  text: string;
}

/** Params of `cron/stateChanged`. */
export interface CronStateChangedNotification {
  /** The job. */
  job: CronJobInfo;
  /** Whether it is gone. */
  removed: boolean;
}

/** Params of `automation/task/updated`. */
export interface AutomationTaskUpdatedNotification {
  /** The whole task. */
  task: AutomationTask;
  /** The workspace. */
  workspacePath: string;
}

/** Params of `automation/updated`. */
export interface AutomationUpdatedNotification {
  /** The automation now, unless it is gone. */
  automation?: Automation;
  /** The automation. */
  automationId: string;
  /** Whether it is gone. */
  removed: boolean;
}

/** Params of `automation/run/updated`. */
export interface AutomationRunUpdatedNotification {
  /** The run now. */
  run: AutomationRun;
}

/** Params of `plugin/snapshot/updated`. */
export interface PluginSnapshotUpdatedNotification {
  /** The plugins that have changed. */
  pluginIds: string[];
  /** Grows with every change of the plugins. */
  snapshotRevision: number;
}

/** Parameters of `shell/output`. */
export interface ShellOutputNotification {
  /** The bytes that it has written, in base64. */
  dataBase64: string;
  /** The shell. */
  id: string;
}

/** Parameters of `shell/skipped`. */
export interface ShellSkippedNotification {
  /** The shell. */
  id: string;
}

/** Parameters of `shell/exited`. */
export interface ShellExitedNotification {
  /** Its exit code; absent where a signal ended it. */
  code?: number;
  /** The shell. */
  id: string;
}

/** What the server says without asking. */
export interface Notifications {
  /** A Thread was created. */
  "thread/started": ThreadStartedNotification;
  /** A Thread was resumed. */
  "thread/resumed": ThreadResumedNotification;
  /** A Thread has another title. */
  "thread/renamed": ThreadRenamedNotification;
  /** A Thread is gone. */
  "thread/deleted": ThreadDeletedNotification;
  /** A Thread was paused, archived, or is active again. */
  "thread/statusChanged": ThreadStatusChangedNotification;
  /** What a Thread is doing has changed. */
  "thread/runtimeChanged": ThreadRuntimeChangedNotification;
  /** The same as `thread/runtimeChanged`, directly after it. */
  "thread/status/changed": ThreadRuntimeChangedNotification;
  /** A Thread was archived. Directly after `thread/statusChanged`. */
  "thread/archived": ThreadArchivedNotification;
  /** A Thread was taken out of the archive. Directly after `thread/statusChanged`. */
  "thread/unarchived": ThreadArchivedNotification;
  /** A Thread has another configuration or mode. */
  "thread/updated": ThreadUpdatedNotification;
  /** A Thread's queue has changed. */
  "thread/queue/updated": ThreadQueueUpdatedNotification;
  /** Extension: a Thread's configuration is another one. */
  "thread/configured": ThreadConfiguredNotification;
  /** Extension: Turns were dropped from the end of the conversation. */
  "thread/rolledBack": ThreadRolledBackNotification;
  /** Extension: the end of a replay. */
  "thread/synced": ThreadSyncedNotification;
  /** A Turn has started; the user's Item is in it. */
  "turn/started": TurnNotification;
  /** A Turn ended well. */
  "turn/completed": TurnNotification;
  /** A Turn ended by an error. */
  "turn/failed": TurnFailedNotification;
  /** A Turn was cancelled. */
  "turn/cancelled": TurnCancelledNotification;
  /** The Turn has changed files. */
  "turn/diff/updated": TurnDiffUpdatedNotification;
  /** Extension: what a Turn did to files was undone. */
  "turn/reverted": TurnRevertedNotification;
  /** Extension: the model is asked again after a pause. */
  "turn/waiting": TurnWaitingNotification;
  /** A Thread has another plan. */
  "plan/updated": PlanUpdatedNotification;
  /** An Item has started. */
  "item/started": ItemNotification;
  /** An Item is final. */
  "item/completed": ItemNotification;
  /** A piece of the agent's answer. */
  "item/agentMessage/delta": AgentMessageDeltaNotification;
  /** A piece of the agent's reasoning. */
  "item/reasoning/delta": ReasoningDeltaNotification;
  /** A piece of a tool call's arguments. */
  "item/toolCall/argumentsDelta": ToolCallArgumentsDeltaNotification;
  /** A piece of a command's output. */
  "item/commandExecution/outputDelta": CommandOutputDeltaNotification;
  /** An approval is settled; open dialogs about it should close. */
  "item/approval/resolved": ApprovalResolvedNotification;
  /** What a model wanted to know is answered, or nobody waits for it any more; open dialogs should close. */
  "item/tool/requestUserInput/resolved": UserInputResolvedNotification;
  /** One call of the model and its tokens. */
  "item/usage/delta": UsageDeltaNotification;
  /** The server did something to a conversation. */
  "system/event": SystemEventNotification;
  /** A job that the server ran has ended. */
  "system/jobResult": JobResultNotification;
  /** How far the subagents of a Turn are. */
  "subagent/progress": SubagentProgressNotification;
  /** The tree of subagents has changed. */
  "subagent/graphChanged": SubagentGraphChangedNotification;
  /** The same as `subagent/graphChanged`, directly after it. */
  "subagent/graph/changed": SubagentGraphChangedNotification;
  /** A command went into the background. */
  "terminal/started": TerminalNotification;
  /** Output of a background terminal. */
  "terminal/outputDelta": TerminalOutputDeltaNotification;
  /** A background terminal ended. */
  "terminal/completed": TerminalNotification;
  /** A background terminal has been silent for long. */
  "terminal/stalled": TerminalNotification;
  /** A background terminal was removed. */
  "terminal/cleaned": TerminalNotification;
  /** Extension: a port is not forwarded any more. */
  "forward/ended": ForwardEndedNotification;
  /** An MCP server is another way than before. */
  "mcp/status/updated": McpStatusUpdatedNotification;
  /** Extension: a login at an MCP server has ended. */
  "mcp/login/completed": McpLoginCompletedNotification;
  /** The configuration was changed. */
  "workspace/configChanged": WorkspaceConfigChangedNotification;
  /** The start of an MCP server goes on. Directly after `mcp/status/updated`. */
  "mcpServer/startupStatus/updated": McpServerStartupStatusUpdatedNotification;
  /** A login at an MCP server has ended. Directly after `mcp/login/completed`. */
  "mcpServer/oauthLogin/completed": McpServerOauthLoginCompletedNotification;
  /** The same as `workspace/configChanged`, directly after it, with paths of settings as `regions`. */
  "config/changed": WorkspaceConfigChangedNotification;
  /** Extension: the user has said something about the folder. */
  "workspace/trustChanged": WorkspaceTrustChangedNotification;
  /** An extension is in another state. */
  "hermes/extension/changed": HermesExtension;
  /** There are other extensions or buttons. */
  "hermes/toolbar/changed": HermesToolbarChanged;
  /** A document was opened, changed or saved. */
  "hermes/document/changed": HermesDocumentChanged;
  /** The document of a Thread was closed. */
  "hermes/document/closed": HermesFocusParams;
  /** An extension has closed its window, or has ended. */
  "hermes/ui/closeWindow": HermesWindowClosedParams;
  /** Extension: how far a run is. */
  "finecode/action/progress": FineCodeProgressNotification;
  /** Extension: a part of a run's result. */
  "finecode/action/partialResult": FineCodePartialResultNotification;
  /** Extension: a runner is in another state. */
  "finecode/runner/updated": FineCodeRunnerUpdatedNotification;
  /** Extension: a runner has something to say to the user. */
  "finecode/message": FineCodeMessageNotification;
  /** A job is new, has changed or is gone. */
  "cron/stateChanged": CronStateChangedNotification;
  /** A task is new or has changed. */
  "automation/task/updated": AutomationTaskUpdatedNotification;
  /** An automation is new, has changed or is gone. */
  "automation/updated": AutomationUpdatedNotification;
  /** A run of an automation is new or has changed. */
  "automation/run/updated": AutomationRunUpdatedNotification;
  /** Plugins have changed, by a method or by hand. Changes by hand are seen when plugins are listed. */
  "plugin/snapshot/updated": PluginSnapshotUpdatedNotification;
  /** Extension: a shell has written something. */
  "shell/output": ShellOutputNotification;
  /** Extension: the connection was too slow for a shell's output and is not attached any more. A client attaches again. */
  "shell/skipped": ShellSkippedNotification;
  /** Extension: a shell has ended. */
  "shell/exited": ShellExitedNotification;
}

/** Params of `item/approval/request`. */
export interface ApprovalRequestParams {
  /** The scope of `acceptAlways`, if that is more than exactly this operation. Bobbin's own member. */
  alwaysScopeKey?: string;
  /** The kind of operation. */
  approvalType: ApprovalKind;
  /** The answers that make sense; absent means all five. */
  availableDecisions?: ApprovalDecision[];
  /** Extension: the tool call that waits for the answer. */
  callId?: string;
  /** Whether the sandbox confines it, so that it would run unasked under the policy `sandboxed`. Bobbin's own member. */
  confined?: boolean;
  /** When the server declines it, unless it is answered. */
  expiresAt: string;
  /** The `approvalRequest` Item. */
  itemId: string;
  /** The command line, or what is done to the target. */
  operation: string;
  /** A sentence for the user. */
  reason?: string;
  /** Distinguishes approvals across Items; 12 hexadecimal digits. */
  requestId: string;
  /** The scope of `acceptForSession`. */
  scopeKey: string;
  /** Working directory, absolute path, or id of the resource. */
  target: string;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Result of `item/approval/request`. */
export interface ApprovalRequestResult {
  /** The answer. */
  decision: ApprovalDecision;
}

/** Params of `item/tool/call`: run a tool that the client gave in `thread/start`. */
export interface ToolCallParams {
  /** A JSON object. */
  arguments: unknown;
  /** The call; begins with `dyntool_`. */
  callId: string;
  /** The tool's group, when it has one. */
  namespace?: string;
  /** The Thread. */
  threadId: string;
  /** The tool. */
  tool: string;
  /** The Turn. */
  turnId: string;
}

/** Result of `item/tool/call`. */
export interface ToolCallResult {
  /** What it brought back, to show. */
  contentItems?: ContentItem[];
  /** A stable word for what went wrong. */
  errorCode?: string;
  /** What went wrong, as a sentence for the user. */
  errorMessage?: string;
  /** What it brought back, for programs. */
  structuredResult?: unknown;
  /** Whether the tool did what it was asked. */
  success: boolean;
}

/** Params of `item/tool/requestUserInput`. */
export interface RequestUserInputParams {
  /** The tool call that waits. */
  callId: string;
  /** Whether the question is part of a plan. With `false`, a client may answer nothing by itself after a while. */
  isBlocking: boolean;
  /** The `userInputRequest` Item. */
  itemId: string;
  /** What is asked; this server asks one question at a time. */
  questions: UserInputQuestion[];
  /** Distinguishes requests; a connection is asked once for each. */
  requestId: string;
  /** The Thread. */
  threadId: string;
  /** The Turn. */
  turnId: string;
}

/** Params of `ext/acp/fs/readTextFile`. */
export interface AcpReadTextFileParams {
  /** At most so many lines. */
  limit?: number;
  /** First line, counted from 1. */
  offset?: number;
  /** The file, absolute. */
  path: string;
  /** The Thread. */
  threadId: string;
}

/** Result of `ext/acp/fs/readTextFile`. */
export interface AcpReadTextFileResult {
  /** The text, with unsaved changes of the editor. */
  content: string;
}

/** Params of `ext/acp/fs/writeTextFile`. */
export interface AcpWriteTextFileParams {
  /** The new text. */
  content: string;
  /** The file, absolute. */
  path: string;
  /** The Thread. */
  threadId: string;
}

/** Result of `ext/acp/fs/writeTextFile`. */
export interface AcpWriteTextFileResult {
  /** Whether it was written. */
  success: boolean;
}

/** Params of `ext/acp/terminal/create`. */
export interface AcpTerminalCreateParams {
  /** The command line. */
  command: string;
  /** Where to run it. */
  cwd?: string;
  /** Its environment, besides the editor's. */
  env?: Record<string, string>;
  /** The Thread. */
  threadId: string;
}

/** Result of `ext/acp/terminal/create`. */
export interface AcpTerminalCreateResult {
  /** The editor's id for the terminal. */
  terminalId: string;
}

/** Params of `ext/acp/terminal/getOutput`, `kill` and `release`. */
export interface AcpTerminalParams {
  /** The editor's id for the terminal. */
  terminalId: string;
  /** The Thread. */
  threadId: string;
}

/** Result of `ext/acp/terminal/getOutput`. */
export interface AcpTerminalOutputResult {
  /** The exit code, once there is one. */
  exitCode?: number;
  /** The output so far. */
  output: string;
}

/** Params of `ext/acp/terminal/waitForExit`. */
export interface AcpTerminalWaitParams {
  /** The editor's id for the terminal. */
  terminalId: string;
  /** The Thread. */
  threadId: string;
  /** Wait at most so long, seconds. */
  timeout?: number;
}

/** Result of `ext/acp/terminal/waitForExit`. */
export interface AcpTerminalWaitResult {
  /** The exit code, if it ended. */
  exitCode?: number;
}

/** Params of `mcpServer/elicitation/request`. */
export interface McpElicitationRequestParams {
  /** Further members that the server sends with it. */
  _meta?: unknown;
  /** `url`: the server's name for the question. */
  elicitationId?: string;
  /** Its text for the user. */
  message?: string;
  /** How it asks. */
  mode: McpElicitationMode;
  /** `form`: JSON Schema of the content. */
  requestedSchema?: unknown;
  /** The server that asks. */
  serverName: string;
  /** The Thread of the call during which it asks. */
  threadId?: string;
  /** The Turn of that call; absent outside of a Turn. */
  turnId?: string;
  /** `url`: the page, of the scheme `http` or `https`. */
  url?: string;
}

/** Result of `mcpServer/elicitation/request`. */
export interface McpElicitationRequestResult {
  /** Further members for the server. */
  _meta?: unknown;
  /** The decision. */
  action: McpElicitationAction;
  /** The content of an accepted form, an object that fits `requestedSchema`. Not for anything else. */
  content?: unknown;
}

/** Params of `hermes/ui/openWindow`. */
export interface HermesWindow {
  /** The extension that asks. */
  extensionId: string;
  /** The height. */
  height: number;
  /** Whether it is modal. */
  modal: boolean;
  /** Whether its size can be changed. */
  resizable: boolean;
  /** The Thread that it is about. */
  threadId?: string;
  /** The title. */
  title: string;
  /** The page: `http` or `https`. */
  url: string;
  /** The width. */
  width: number;
  /** Its id, for `hermes/ui/windowClosed`. */
  windowId: string;
}

/** Params of `hermes/ui/showMessage`. */
export interface HermesMessage {
  /** The extension that asks. */
  extensionId: string;
  /** Its severity. */
  kind: HermesSeverity;
  /** The message. */
  message: string;
  /** The Thread that it is about. */
  threadId?: string;
  /** The title. */
  title?: string;
}

/** Params of `hermes/ui/showConfirm`. */
export interface HermesConfirm {
  /** The two answers. */
  buttons: HermesButtons;
  /** The extension that asks. */
  extensionId: string;
  /** The question. */
  message: string;
  /** The Thread that it is about. */
  threadId?: string;
  /** The title. */
  title?: string;
}

/** Result of `hermes/ui/showConfirm`. */
export interface HermesConfirmed {
  /** Whether the user agrees. */
  confirmed: boolean;
}

/** Params of the choices of files and directories. All paths are of the server's machine. */
export interface HermesChoice {
  /** The suggested name of a saved file. */
  defaultName?: string;
  /** The directory or file to start with. */
  defaultPath?: string;
  /** The extension that asks. */
  extensionId: string;
  /** The kinds of files. */
  filters?: HermesFilter[];
  /** The Thread that it is about. */
  threadId?: string;
  /** The title. */
  title?: string;
}

/** Result of a choice of one path. */
export interface HermesPath {
  /** The path; absent or `null` if the user cancels. */
  path?: string;
}

/** Result of a choice of paths. */
export interface HermesPaths {
  /** The paths; absent or `null` if the user cancels. */
  paths?: string[];
}

/** Params of `finecode/applyEdit`. */
export interface FineCodeApplyEditParams {
  /**
   * A `WorkspaceEdit` of the Language Server Protocol, as the runner sent it. A range that ends behind the end of a document
   * ends there.
   */
  edit: unknown;
}

/** Result of `finecode/applyEdit`. */
export interface FineCodeApplyEditResult {
  /** Whether all of it is made. */
  applied: boolean;
  /** Why not. */
  failureReason?: string;
}

/** Params of `ext/channel/send`. */
export interface ExtChannelSendParams {
  /** The message. */
  message: ChannelMessage;
  /** Hints, an object. */
  metadata?: unknown;
  /** The chat, as the channel's platform names it. */
  target: string;
}

/** Result of `ext/channel/send`. */
export interface ExtChannelSendResult {
  /** Whether the platform took it. */
  delivered: boolean;
  /** The same, as older adapters say it. */
  error?: string;
  /** Why it was not delivered, for programs. */
  errorCode?: string;
  /** Why it was not delivered, for the user. */
  errorMessage?: string;
  /** The platform's id of the medium. */
  remoteMediaId?: string;
  /** The platform's id of the message. */
  remoteMessageId?: string;
}

/** Params of `ext/channel/toolCall`. */
export interface ChannelToolCallParams {
  /** A JSON object. */
  arguments: unknown;
  /** The call; begins with `exttool_`. */
  callId: string;
  /** The chat that the call is for. */
  context: ChannelToolContext;
  /** The Thread. */
  threadId: string;
  /** The tool. */
  tool: string;
  /** The Turn. */
  turnId: string;
}

/** What the server asks. */
export interface ServerRequests {
  /** Asks the user for an approval. An error or an unknown answer counts as `decline`. */
  "item/approval/request": { params: ApprovalRequestParams; result: ApprovalRequestResult };
  /** Runs a tool that the client gave in `thread/start`. */
  "item/tool/call": { params: ToolCallParams; result: ToolCallResult };
  /** Asks the user what the model wants to know. An error leaves the question open. */
  "item/tool/requestUserInput": { params: RequestUserInputParams; result: RequestUserInputResult };
  /** Reads a file through the editor. */
  "ext/acp/fs/readTextFile": { params: AcpReadTextFileParams; result: AcpReadTextFileResult };
  /** Writes a file through the editor. */
  "ext/acp/fs/writeTextFile": { params: AcpWriteTextFileParams; result: AcpWriteTextFileResult };
  /** Runs a command in the editor. */
  "ext/acp/terminal/create": { params: AcpTerminalCreateParams; result: AcpTerminalCreateResult };
  /** Reads the output of a command in the editor. */
  "ext/acp/terminal/getOutput": { params: AcpTerminalParams; result: AcpTerminalOutputResult };
  /** Waits for a command in the editor. */
  "ext/acp/terminal/waitForExit": { params: AcpTerminalWaitParams; result: AcpTerminalWaitResult };
  /** Ends a command in the editor. */
  "ext/acp/terminal/kill": { params: AcpTerminalParams; result: EmptyResult };
  /** Closes a terminal in the editor. */
  "ext/acp/terminal/release": { params: AcpTerminalParams; result: EmptyResult };
  /** Asks the user what an MCP server wants to know, by a form or a page. */
  "mcpServer/elicitation/request": { params: McpElicitationRequestParams; result: McpElicitationRequestResult };
  /** Shows a page in a window. */
  "hermes/ui/openWindow": { params: HermesWindow; result: EmptyResult };
  /** Shows a message and waits until the user has read it. */
  "hermes/ui/showMessage": { params: HermesMessage; result: EmptyResult };
  /** Asks the user a question. */
  "hermes/ui/showConfirm": { params: HermesConfirm; result: HermesConfirmed };
  /** Asks for a file to open. */
  "hermes/ui/openFile": { params: HermesChoice; result: HermesPath };
  /** Asks for files to open. */
  "hermes/ui/openFiles": { params: HermesChoice; result: HermesPaths };
  /** Asks where to save. */
  "hermes/ui/saveFile": { params: HermesChoice; result: HermesPath };
  /** Asks for a directory. */
  "hermes/ui/selectDirectory": { params: HermesChoice; result: HermesPath };
  /** Extension: a runner wants an edit of files. Sent to one client that declares `extensions.finecode.applyEdit`. */
  "finecode/applyEdit": { params: FineCodeApplyEditParams; result: FineCodeApplyEditResult };
  /** Has an adapter send a message to a chat. */
  "ext/channel/send": { params: ExtChannelSendParams; result: ExtChannelSendResult };
  /** Has an adapter run one of its tools. */
  "ext/channel/toolCall": { params: ChannelToolCallParams; result: ToolCallResult };
  /** Asks an adapter for a sign of life. */
  "ext/channel/heartbeat": { params: EmptyParams; result: EmptyResult };
}
