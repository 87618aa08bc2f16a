//! The Items of a Thread as rows of its list. The Items of one call become one row.
import type {
  ActorInfo,
  ApprovalRequestItem,
  CommandExecutionPayload,
  ContentItem,
  ImageContent,
  ItemState,
  SystemNoticePayload,
  ToolExecutionStatus,
  TurnState,
  UserMessageItem,
} from "@bobbin/client";
import { subject, type Subject } from "./tools";

export type ToolStatus = "writing" | "waiting" | "running" | "done" | "failed" | "cancelled" | "background";

export interface ToolView {
  callId: string;
  name: string;
  what: Subject;
  arguments?: Record<string, unknown>;
  argumentsText?: string;
  status: ToolStatus;
  result?: string;
  startedAt?: string;
  durationMs?: number;
  command?: CommandExecutionPayload;
  images?: ImageContent[];
}

export type Row =
  | { kind: "user"; key: string; turnId: string; item: UserMessageItem }
  | { kind: "agent"; key: string; turnId: string; text: string; streaming: boolean }
  | { kind: "reasoning"; key: string; turnId: string; text: string; streaming: boolean; ms?: number }
  | { kind: "tool"; key: string; turnId: string; tool: ToolView }
  /** Calls in a row that only looked at something. */
  | { kind: "looks"; key: string; turnId: string; tools: ToolView[]; keys: string[] }
  | { kind: "approval"; key: string; turnId: string; request: ApprovalRequestItem; decision?: string; by?: ActorInfo }
  | { kind: "notice"; key: string; turnId: string; text: string; bad: boolean }
  /** The model has the request and has not answered yet. */
  | { kind: "working"; key: string; turnId: string; since: string; waiting?: string }
  | { kind: "end"; key: string; turnId: string; turn: TurnState };

const known = new WeakMap<TurnState, Row[]>();

export function rowsOf(turns: readonly TurnState[]): Row[] {
  return turns.flatMap((turn) => {
    let rows = known.get(turn);
    if (!rows) {
      rows = rowsOfTurn(turn);
      known.set(turn, rows);
    }
    return rows;
  });
}

const ended = ({ status }: TurnState) => status === "completed" || status === "failed" || status === "cancelled";

function rowsOfTurn(turn: TurnState): Row[] {
  const rows: Row[] = [];
  const tools = new Map<string, ToolView>();
  const approvals = new Map<string, Row & { kind: "approval" }>();
  const over = ended(turn);
  const stopped = new Set<string>();

  const tool = (item: ItemState, callId: string, name: string): ToolView => {
    let view = tools.get(callId);
    if (!view) {
      view = { callId, name, what: subject(name, undefined), status: over ? "cancelled" : "writing" };
      tools.set(callId, view);
      rows.push({ kind: "tool", key: `${turn.id}/${item.id}`, turnId: turn.id, tool: view });
    }
    return view;
  };

  for (const item of turn.items) {
    const at = { key: `${turn.id}/${item.id}`, turnId: turn.id };
    const streaming = item.status !== "completed";
    switch (item.type) {
      case "userMessage":
        rows.push({ kind: "user", ...at, item });
        break;
      case "agentMessage":
        if (item.payload.text) rows.push({ kind: "agent", ...at, text: item.payload.text, streaming });
        break;
      case "reasoningContent":
        if (item.payload.text)
          rows.push({
            kind: "reasoning",
            ...at,
            text: item.payload.text,
            streaming,
            ms: item.completedAt ? Date.parse(item.completedAt) - Date.parse(item.createdAt) : undefined,
          });
        break;
      case "toolCall": {
        const view = tool(item, item.payload.callId, item.payload.toolName);
        view.arguments = object(item.payload.arguments);
        view.argumentsText = item.argumentsText ?? item.payload.argumentsText;
        view.what = subject(view.name, view.arguments, view.argumentsText);
        if (!streaming && view.status === "writing") view.status = over ? "cancelled" : "waiting";
        break;
      }
      case "toolExecution": {
        const view = tool(item, item.payload.callId, item.payload.toolName);
        view.startedAt ??= item.createdAt;
        view.durationMs = item.payload.durationMs;
        view.status = executionStatus[item.payload.status];
        if (view.status === "cancelled") stopped.add(item.payload.callId);
        view.result ??= item.payload.resultPreview ?? item.payload.errorMessage;
        break;
      }
      case "toolResult": {
        const view = tool(item, item.payload.callId, "");
        view.result = item.payload.result;
        if (view.status !== "background")
          view.status = item.payload.success ? "done" : stopped.has(item.payload.callId) ? "cancelled" : "failed";
        break;
      }
      case "commandExecution": {
        const view = tool(item, item.payload.callId ?? item.id, "Exec");
        view.startedAt ??= item.createdAt;
        view.command = item.payload;
        view.what = subject("Exec", { command: item.payload.command });
        view.status = commandStatus(item.payload);
        view.durationMs ??= item.payload.durationMs;
        break;
      }
      case "dynamicToolCall":
      case "pluginFunctionCall": {
        const view = tool(
          item,
          item.payload.callId,
          item.type === "dynamicToolCall" ? item.payload.toolName : item.payload.functionName,
        );
        view.arguments = object(item.payload.arguments);
        view.what = subject(view.name, view.arguments);
        view.result = item.payload.errorMessage ?? content(item.payload);
        view.images = item.payload.contentItems?.filter((part) => part.type === "image");
        view.status = streaming ? "running" : item.payload.success ? "done" : "failed";
        break;
      }
      case "approvalRequest": {
        const row = { kind: "approval" as const, ...at, request: item };
        approvals.set(item.payload.requestId, row);
        rows.push(row);
        break;
      }
      case "approvalResponse": {
        const row = approvals.get(item.payload.requestId);
        if (row) {
          row.decision = item.payload.decision;
          row.by = item.payload.actor;
        }
        break;
      }
      case "error":
        rows.push({ kind: "notice", ...at, text: item.payload.message, bad: item.payload.fatal });
        break;
      case "systemNotice":
        rows.push({ kind: "notice", ...at, text: noticeText(item.payload), bad: false });
        break;
      case "fileChange":
        break;
      default:
        // A newer server may send Items of other types.
        rows.push({
          kind: "notice",
          ...at,
          text: `This page does not know Items of the type ${(item as { type: string }).type}.`,
          bad: false,
        });
    }
  }
  const last = turn.items.at(-1);
  if (turn.status === "running" && !rows.some(isBusy))
    rows.push({
      kind: "working",
      key: `${turn.id}/working`,
      turnId: turn.id,
      since: last?.completedAt ?? last?.createdAt ?? turn.startedAt,
      waiting: turn.waiting,
    });
  const folded = fold(rows);
  if (over) folded.push({ kind: "end", key: `${turn.id}/end`, turnId: turn.id, turn });
  return folded;
}

/** Fewer calls stay rows of their own. */
const FEWEST = 3;

/** Joins calls that only looked, and are done, to one row each time. */
function fold(rows: readonly Row[]): Row[] {
  const folded: Row[] = [];
  let run: (Row & { kind: "tool" })[] = [];
  const end = () => {
    const [first] = run;
    if (first && run.length >= FEWEST)
      folded.push({
        kind: "looks",
        key: first.key,
        turnId: first.turnId,
        tools: run.map(({ tool }) => tool),
        keys: run.map(({ key }) => key),
      });
    else folded.push(...run);
    run = [];
  };
  for (const row of rows) {
    if (row.kind === "tool" && row.tool.what.looks && row.tool.status === "done") run.push(row);
    else {
      end();
      folded.push(row);
    }
  }
  end();
  return folded;
}

/** Whether a row is, or contains, the one with a key. */
export const isAt = (row: Row, key: string) => row.key === key || (row.kind === "looks" && row.keys.includes(key));

/** Returns whether a row shows that something runs. */
function isBusy(row: Row): boolean {
  return row.kind === "tool"
    ? BUSY.has(row.tool.status)
    : (row.kind === "agent" || row.kind === "reasoning") && row.streaming;
}

const BUSY = new Set<ToolStatus>(["writing", "waiting", "running"]);

const executionStatus: Record<ToolExecutionStatus, ToolStatus> = {
  inProgress: "running",
  completed: "done",
  failed: "failed",
  cancelled: "cancelled",
};

function commandStatus(payload: CommandExecutionPayload): ToolStatus {
  if (payload.status === "inProgress") return "running";
  if (payload.status === "backgrounded") return "background";
  if (payload.status === "completed")
    return payload.exitCode === 0 || payload.exitCode === undefined ? "done" : "failed";
  return payload.status === "cancelled" || payload.status === "killed" ? "cancelled" : "failed";
}

function object(value: unknown): Record<string, unknown> | undefined {
  return value && typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}

function content(payload: { contentItems?: ContentItem[]; structuredResult?: unknown }): string | undefined {
  const text = payload.contentItems
    ?.map((part) => (part.type === "text" ? part.text : ""))
    .filter(Boolean)
    .join("\n");
  return (
    text || (payload.structuredResult === undefined ? undefined : JSON.stringify(payload.structuredResult, null, 2))
  );
}

function noticeText(payload: SystemNoticePayload): string {
  if (payload.kind === "forked") return "Copied from another thread up to here.";
  if (payload.kind !== "compacted") return "The agent's memory was tidied.";
  const { tokensBefore, tokensAfter } = payload;
  const size =
    tokensBefore && tokensAfter !== undefined
      ? ` (${tokensBefore.toLocaleString()} → ${tokensAfter.toLocaleString()} tokens)`
      : "";
  return `The earlier conversation was summarized for the model${size}.`;
}
