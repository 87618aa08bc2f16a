import type { ThreadMessage } from "./follow.js";
import type {
  DiffFile,
  Item,
  UsageDeltaNotification,
  QueuedTurnInput,
  RevertedFile,
  SubagentProgress,
  Thread,
  ThreadReadResult,
  Turn,
} from "./protocol.js";

/** Longest text of a running Item. Of a longer one, the end stays. */
const MAX_LIVE_TEXT = 1 << 20;

/** A Turn with its Items, and what only its notifications tell. */
export interface TurnState extends Omit<Turn, "items"> {
  readonly items: readonly ItemState[];
  /** What it changed in files so far, if this client saw it happen. */
  readonly diff?: { readonly diff: string; readonly files?: readonly DiffFile[]; readonly truncated?: boolean };
  /** What it waits for before it goes on, as a status line: a model that is asked again. */
  readonly waiting?: string;
  /** What `turn/revert` did, if this client saw it happen. */
  readonly reverted?: readonly RevertedFile[];
}

/** An Item. While the arguments of a tool call arrive, `argumentsText` is their JSON so far. */
export type ItemState = Item & { readonly argumentsText?: string };

/** A Thread at one moment. Never changed; what has not changed since the last one is the same object. */
export interface ThreadContents {
  /** Everything but the Turns; absent until the Thread has been read. */
  readonly thread: Omit<Thread, "turns"> | undefined;
  /** Oldest first, as far back as they were read. */
  readonly turns: readonly TurnState[];
  readonly hasOlderTurns: boolean;
  readonly queuedInputs: readonly QueuedTurnInput[];
  /** What the subagents of the running Turn do. */
  readonly subagents: readonly SubagentProgress[];
}

export const EMPTY: ThreadContents = {
  thread: undefined,
  turns: [],
  hasOlderTurns: false,
  queuedInputs: [],
  subagents: [],
};

/** Where the text of a streaming Item is. */
const TEXT_OF: Record<string, "text" | "aggregatedOutput" | "argumentsText"> = {
  "item/agentMessage/delta": "text",
  "item/reasoning/delta": "text",
  "item/commandExecution/outputDelta": "aggregatedOutput",
  "item/toolCall/argumentsDelta": "argumentsText",
};

/** A Turn that is worked on. */
interface Draft {
  turn: TurnState;
  items: ItemState[];
  /** Places in `items`. */
  readonly places: Map<string, number>;
  /** Text that has arrived since the last snapshot, by Item. */
  readonly texts: Map<string, { member: "text" | "aggregatedOutput" | "argumentsText"; pieces: string[] }>;
  isChanged: boolean;
}

/**
 * Collects changes of a Thread and makes snapshots of it. A change costs the same however long the Thread is;
 * a snapshot costs a copy of the list of Items of each changed Turn.
 */
export class ThreadState {
  #contents = EMPTY;
  #drafts: Draft[] = [];
  #byId = new Map<string, Draft>();
  #olderCursor: string | undefined;

  get olderCursor(): string | undefined {
    return this.#olderCursor;
  }

  get turnCount(): number {
    return this.#drafts.length;
  }

  /** Takes a Thread as it was read. */
  replace({ thread: { turns = [], ...thread }, turnPage }: ThreadReadResult): void {
    const before = this.#byId;
    this.#drafts = turns.map((turn) => draft(turn, before.get(turn.id)));
    this.#index();
    this.#olderCursor = turnPage?.nextCursor;
    this.#contents = { ...this.#contents, thread, queuedInputs: thread.queuedInputs, subagents: [] };
  }

  /** Takes the Turns before the first one. */
  prepend({ thread: { turns = [] }, turnPage }: ThreadReadResult): void {
    const older = turns.filter((turn) => !this.#byId.has(turn.id));
    this.#drafts = [...older.map((turn) => draft(turn)), ...this.#drafts];
    this.#index();
    this.#olderCursor = turnPage?.nextCursor;
  }

  /** Takes another configuration. */
  configure({ configuration }: Thread): void {
    if (configuration) this.#thread({ configuration });
  }

  /** Takes one change. Unknown ones are ignored. */
  apply({ method, params }: ThreadMessage): void {
    const { turnId } = params as { turnId?: string };
    const open = turnId === undefined ? undefined : this.#byId.get(turnId);
    const member = TEXT_OF[method];
    if (member) return append(open, params as { itemId: string; delta: string }, member);
    const message = params as never;
    switch (method) {
      case "turn/started":
      case "turn/completed":
      case "turn/failed":
      case "turn/cancelled":
        return this.#turn((message as { turn: Turn }).turn);
      case "item/started":
      case "item/completed":
      case "item/approval/resolved":
        return put(open, (message as { item: Item }).item);
      case "item/usage/delta":
        return this.#usage(open, message);
      case "turn/diff/updated": {
        const { diff, files, truncated } = message as { diff: string; files?: DiffFile[]; truncated?: boolean };
        return change(open, { diff: { diff, ...(files && { files }), ...(truncated && { truncated }) } });
      }
      case "turn/waiting":
        return change(open, { waiting: (message as { message: string }).message });
      case "turn/reverted":
        return change(open, { reverted: (message as { files: RevertedFile[] }).files });
      case "thread/runtimeChanged":
        return this.#runtime((message as { runtime: Thread["runtime"] }).runtime);
      case "thread/renamed":
        return this.#thread({ displayName: (message as { displayName: string }).displayName });
      case "thread/statusChanged":
        return this.#thread({ status: (message as { newStatus: Thread["status"] }).newStatus });
      case "thread/resumed": {
        const { turns: _, ...thread } = (message as { thread: Thread }).thread;
        return this.#thread(thread);
      }
      case "thread/queue/updated": {
        const { queuedInputs } = message as { queuedInputs: QueuedTurnInput[] };
        this.#thread({ queuedInputs });
        this.#contents = { ...this.#contents, queuedInputs };
        return;
      }
      case "plan/updated": {
        const { title, overview, content, todos } = message as NonNullable<Thread["plan"]>;
        return this.#thread({ plan: { title, overview, content, todos } });
      }
      case "subagent/progress":
        this.#contents = { ...this.#contents, subagents: (message as { entries: SubagentProgress[] }).entries };
        return;
      case "thread/rolledBack": {
        const first = this.#drafts.findIndex(
          ({ turn }) => turn.id === (message as { firstTurnId: string }).firstTurnId,
        );
        this.#drafts.length = Math.max(0, first);
        return this.#index();
      }
    }
  }

  /** Returns the Thread as it is now. */
  snapshot(): ThreadContents {
    const turns = this.#drafts.map(settled);
    const before = this.#contents.turns;
    const isSame = turns.length === before.length && turns.every((turn, place) => turn === before[place]);
    const hasOlderTurns = this.#olderCursor !== undefined;
    if (!isSame || hasOlderTurns !== this.#contents.hasOlderTurns) {
      this.#contents = { ...this.#contents, turns: isSame ? before : turns, hasOlderTurns };
    }
    return this.#contents;
  }

  #turn(turn: Turn): void {
    const before = this.#byId.get(turn.id);
    const next = draft(turn, before);
    const { thread } = this.#contents;
    // `thread.cost` is that of the finished Turns.
    if (thread && turn.cost !== undefined && turn.completedAt && !before?.turn.completedAt)
      this.#thread({ cost: (thread.cost ?? 0) + turn.cost });
    if (before) this.#drafts[this.#drafts.indexOf(before)] = next;
    else this.#drafts.push(next);
    this.#byId.set(turn.id, next);
    if (turn.completedAt) this.#contents = { ...this.#contents, subagents: [] };
  }

  #usage(open: Draft | undefined, delta: UsageDeltaNotification): void {
    if (delta.contextUsage) this.#thread({ contextUsage: delta.contextUsage });
    if (!open || open.turn.completedAt) return;
    const before = open.turn.tokenUsage ?? { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
    const sum = (one = 0, other = 0) => one + other;
    const tokenUsage = {
      ...before,
      inputTokens: before.inputTokens + delta.inputTokens,
      outputTokens: before.outputTokens + delta.outputTokens,
      totalTokens: before.totalTokens + delta.inputTokens + delta.outputTokens,
      cachedInputTokens: sum(before.cachedInputTokens, delta.cachedInputTokens),
      reasoningOutputTokens: sum(before.reasoningOutputTokens, delta.reasoningOutputTokens),
    };
    change(open, { tokenUsage, ...(delta.cost !== undefined && { cost: sum(open.turn.cost, delta.cost) }) });
  }

  #runtime(runtime: Thread["runtime"]): void {
    this.#thread({ runtime });
    const last = this.#drafts.at(-1);
    if (!last || last.turn.completedAt) return;
    const waiting = runtime.waitingOnInput ? "waitingInput" : "running";
    change(last, { status: runtime.waitingOnApproval ? "waitingApproval" : waiting });
  }

  #thread(change: Partial<Thread>): void {
    const { thread } = this.#contents;
    if (thread) this.#contents = { ...this.#contents, thread: { ...thread, ...change } };
  }

  #index(): void {
    this.#byId = new Map(this.#drafts.map((one) => [one.turn.id, one]));
  }
}

/** Returns a Turn to work on. What is final stays the same object, and what no read tells is taken over. */
function draft({ items, ...turn }: Turn, before?: Draft): Draft {
  const final = new Map<string, ItemState>();
  for (const item of before?.items ?? []) if (item.status === "completed") final.set(item.id, item);
  const list = items ? items.map((item) => final.get(item.id) ?? item) : [...(before?.items ?? [])];
  const { diff, reverted } = before?.turn ?? {};
  return {
    turn: { ...turn, items: list, ...(diff && { diff }), ...(reverted && { reverted }) },
    items: list,
    places: new Map(list.map((item, place) => [item.id, place])),
    texts: new Map(),
    isChanged: true,
  };
}

function change(open: Draft | undefined, members: Partial<TurnState>): void {
  if (!open) return;
  open.turn = { ...open.turn, ...members };
  open.isChanged = true;
}

function put(open: Draft | undefined, item: Item): void {
  if (!open) return;
  const place = open.places.get(item.id);
  if (place === undefined) {
    open.places.set(item.id, open.items.length);
    open.items.push(item);
  } else if (open.items[place]?.status !== "completed") {
    open.items[place] = item;
  }
  open.texts.delete(item.id);
  goesOn(open);
  open.isChanged = true;
}

/** With the next message of a Turn, what it waited for is over. */
function goesOn(open: Draft): void {
  if (!open.turn.waiting) return;
  const { waiting: _, ...turn } = open.turn;
  open.turn = turn;
}

function append(
  open: Draft | undefined,
  { itemId, delta }: { itemId: string; delta: string },
  member: "text" | "aggregatedOutput" | "argumentsText",
): void {
  const text = open?.texts.get(itemId);
  if (text) text.pieces.push(delta);
  else open?.texts.set(itemId, { member, pieces: [delta] });
  if (!open) return;
  goesOn(open);
  open.isChanged = true;
}

/** Returns the Turn of a draft as it is now. */
function settled(open: Draft): TurnState {
  if (!open.isChanged) return open.turn;
  for (const [id, { member, pieces }] of open.texts) {
    const place = open.places.get(id);
    const item = place === undefined ? undefined : open.items[place];
    if (place === undefined || !item || item.status === "completed") continue;
    open.items[place] = longer(item, member, pieces.join(""));
  }
  open.texts.clear();
  open.isChanged = false;
  // The snapshot's list is never changed; the draft goes on with a copy.
  open.turn = { ...open.turn, items: open.items };
  open.items = [...open.items];
  return open.turn;
}

function longer(item: ItemState, member: "text" | "aggregatedOutput" | "argumentsText", text: string): ItemState {
  const join = (before: unknown) => {
    const whole = (typeof before === "string" ? before : "") + text;
    return whole.length > 2 * MAX_LIVE_TEXT ? whole.slice(-MAX_LIVE_TEXT) : whole;
  };
  if (member === "argumentsText") {
    return { ...item, status: "streaming", argumentsText: join(item.argumentsText) };
  }
  const payload = item.payload as unknown as Record<string, unknown>;
  return {
    ...item,
    status: "streaming",
    payload: { ...payload, [member]: join(payload[member]) },
  } as unknown as ItemState;
}
