import type { Client } from "./client.js";
import type { Notifications, Thread, ThreadListParams, ThreadSummary } from "./protocol.js";
import { batched, Store } from "./store.js";

/** Most Threads in a list. */
const MAX_THREADS = 20_000;

export type ThreadListOptions = Omit<ThreadListParams, "cursor" | "limit">;

export interface ThreadListSnapshot {
  /** Latest first. */
  readonly threads: readonly ThreadSummary[];
  readonly phase: "loading" | "live" | "stale" | "failed";
  readonly error: string | undefined;
}

/**
 * The live list of Threads. It is read on each connection; in between it follows broadcasts. These have no
 * times, so the moment in which a Thread becomes active is this client's until the next reading.
 */
export class ThreadList extends Store<ThreadListSnapshot> {
  readonly #endings: (() => void)[] = [];
  readonly #changed: () => void;
  #threads = new Map<string, ThreadSummary>();
  /** Changes that came while the list was being read. */
  #since: (() => void)[] | undefined;
  #life = 0;
  #phase: ThreadListSnapshot["phase"] = "loading";
  #error: string | undefined;

  /** @internal */
  constructor(
    private readonly client: Client,
    private readonly options: ThreadListOptions,
  ) {
    super({ threads: [], phase: "loading", error: undefined });
    this.#changed = batched(() => this.#publish());
    const on = <M extends keyof Notifications>(method: M, apply: (params: Notifications[M]) => void) =>
      this.#endings.push(
        client.on(method, (params) => {
          this.#since?.push(() => apply(params));
          apply(params);
          this.#changed();
        }),
      );
    on("thread/started", ({ thread }) => this.#add(thread));
    on("thread/deleted", ({ threadId }) => this.#threads.delete(threadId));
    on("thread/renamed", ({ threadId, displayName }) => this.#change(threadId, { displayName }));
    on("thread/statusChanged", ({ threadId, newStatus }) => {
      if (newStatus === "archived" && !options.includeArchived) this.#threads.delete(threadId);
      else if (this.#threads.has(threadId)) this.#change(threadId, { status: newStatus });
      else void this.refresh();
    });
    on("thread/runtimeChanged", ({ threadId, runtime }) => {
      const before = this.#threads.get(threadId);
      const starts = before !== undefined && runtime.running && !before.runtime?.running;
      const active = starts ? { lastActiveAt: new Date().toISOString(), turnCount: before.turnCount + 1 } : {};
      this.#change(threadId, { runtime, ...active });
    });
    this.#endings.push(client.subscribe(() => this.#connectionChanged()));
    this.#connectionChanged();
  }

  /** Reads the list again. */
  async refresh(): Promise<void> {
    const life = ++this.#life;
    this.#since = [];
    try {
      const read = new Map<string, ThreadSummary>();
      let cursor: string | undefined;
      do {
        const params = { ...this.options, ...(cursor !== undefined && { cursor }) };
        const page = await this.client.request("thread/list", params);
        for (const thread of page.data) read.set(thread.id, thread);
        cursor = page.nextCursor;
      } while (cursor !== undefined && read.size < MAX_THREADS && life === this.#life);
      if (life !== this.#life) return;
      this.#threads = read;
      for (const apply of this.#since) apply();
      this.#phase = "live";
      this.#error = undefined;
    } catch (error) {
      if (life !== this.#life) return;
      this.#phase = "failed";
      this.#error = error instanceof Error ? error.message : String(error);
    }
    this.#since = undefined;
    this.#changed();
  }

  close(): void {
    this.#life += 1;
    for (const end of this.#endings.splice(0)) end();
  }

  #connectionChanged(): void {
    if (this.client.getSnapshot().state === "ready") return void this.refresh();
    if (this.#phase === "live") this.#phase = "stale";
    this.#changed();
  }

  #add({
    turns: _turns,
    configuration: _c,
    queuedInputs: _q,
    contextUsage: _u,
    plan: _p,
    historyMode: _h,
    ...thread
  }: Thread): void {
    if (!this.#includes(thread)) return;
    this.#threads.set(thread.id, { turnCount: this.#threads.get(thread.id)?.turnCount ?? 0, ...thread });
  }

  /** Whether a Thread belongs to the list, by the server's own rules for `thread/list`. */
  #includes(thread: Omit<ThreadSummary, "turnCount">): boolean {
    const { identity, includeSubAgents, includeArchived, crossChannelOrigins, channelName, query } = this.options;
    if (thread.source.kind === "subagent" && !includeSubAgents) return false;
    if (thread.status === "archived" && !includeArchived) return false;
    if (channelName && thread.originChannel.toLowerCase() !== channelName.toLowerCase()) return false;
    if (query && !thread.displayName?.toLowerCase().includes(query.toLowerCase())) return false;
    if (crossChannelOrigins?.includes(thread.originChannel)) return true;
    const isUsers = identity?.userId === undefined || identity.userId === thread.userId;
    return isUsers && identity?.channelContext === thread.channelContext;
  }

  #change(id: string, change: Partial<ThreadSummary>): void {
    const before = this.#threads.get(id);
    if (before) this.#threads.set(id, { ...before, ...change });
  }

  #publish(): void {
    const threads = [...this.#threads.values()].sort(
      (one, other) => order(other.lastActiveAt, one.lastActiveAt) || order(other.id, one.id),
    );
    this.set({ threads, phase: this.#phase, error: this.#error });
  }
}

const order = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
