import type { Client } from "./client.js";
import { ConnectionError } from "./errors.js";
import type { Follower, ThreadMessage } from "./follow.js";
import type { InputPart, ThreadReadResult, TurnStartParams } from "./protocol.js";
import type { Question } from "./questions.js";
import { batched, Store } from "./store.js";
import { EMPTY, type ItemState, type ThreadContents, ThreadState, type TurnState } from "./thread-state.js";

export interface ThreadStoreOptions {
  /** How many of the latest Turns to read at first, and with each `loadOlder()`. Default 50. */
  turnLimit?: number;
}

/** The live state of a Thread. */
export interface ThreadSnapshot extends ThreadContents {
  readonly id: string;
  /**
   * - `loading`: nothing is known yet.
   * - `live`: this is the present state.
   * - `stale`: the connection is lost, or what was missed is on its way.
   * - `failed`: it could not be read; `error` says why, and it is tried again.
   * - `gone`: there is no such Thread any more.
   */
  readonly phase: "loading" | "live" | "stale" | "failed" | "gone";
  readonly error: string | undefined;
  /** What waits for this user in this Thread, oldest first. */
  readonly questions: readonly Question[];
}

/** The live state of one Thread. `Client.openThread` makes it. */
export class ThreadStore extends Store<ThreadSnapshot> implements Follower {
  readonly #state = new ThreadState();
  readonly #endings: (() => void)[] = [];
  readonly #changed: () => void;
  #phase: ThreadSnapshot["phase"] = "loading";
  #error: string | undefined;
  #loading: Promise<void> | undefined;

  /** @internal */
  constructor(
    private readonly client: Client,
    readonly id: string,
    private readonly options: ThreadStoreOptions,
    private readonly release: () => boolean,
  ) {
    super({ ...EMPTY, id, phase: "loading", error: undefined, questions: [] });
    this.#changed = batched(() => this.#publish());
    this.#endings.push(
      client.follow(id, this),
      client.questions.subscribe(this.#changed),
      client.subscribe(() => this.#connectionChanged()),
    );
  }

  /** Resolves once the Thread is live; rejects if it is gone or the client is closed. */
  async ready(): Promise<this> {
    await this.#until(({ phase }) => phase === "live");
    return this;
  }

  /** Starts a Turn and resolves with it when it has ended, in whichever way. */
  async ask(input: string | InputPart[], params?: Partial<TurnStartParams>): Promise<TurnState> {
    // Listeners of the client get the Turn's notifications only once the Thread has been read.
    await this.#until(({ phase }) => phase !== "loading");
    const { turn } = await this.start(input, params);
    const ended = ({ turns }: ThreadSnapshot) => turns.find(({ id, completedAt }) => id === turn.id && completedAt);
    // biome-ignore lint/style/noNonNullAssertion: the snapshot has the ended Turn
    return ended(await this.#until((snapshot) => ended(snapshot) !== undefined))!;
  }

  /** Starts a Turn. */
  start(input: string | InputPart[], params?: Partial<TurnStartParams>) {
    return this.client.request("turn/start", { ...params, threadId: this.id, input: parts(input) });
  }

  /** Has an input wait until the running Turn has ended. */
  enqueue(input: string | InputPart[]) {
    return this.client.request("turn/enqueue", { threadId: this.id, input: parts(input) });
  }

  /** Stops the running Turn. */
  interrupt() {
    return this.client.request("turn/interrupt", { threadId: this.id, turnId: "" });
  }

  /** Reads the Turns before the first one. */
  loadOlder(): Promise<void> {
    this.#loading ??= this.#loadOlder().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** Ends the following, once each of those who opened the Thread has said so. */
  close(): void {
    if (!this.release()) return;
    for (const end of this.#endings.splice(0)) end();
  }

  /** @internal */
  turnLimit(): number {
    return Math.max(this.#pageSize, this.#state.turnCount);
  }

  /** @internal */
  replace(read: ThreadReadResult): void {
    this.#state.replace(read);
    this.#changed();
  }

  /** @internal */
  apply(message: ThreadMessage): void {
    if (message.method === "thread/deleted") return this.failed("The Thread was deleted.", true);
    if (message.method === "thread/configured") void this.#readConfiguration();
    this.#state.apply(message);
    this.#changed();
  }

  /** @internal */
  synced(): void {
    this.#error = undefined;
    this.#phase = "live";
    this.#changed();
  }

  /** @internal */
  failed(message: string, isGone: boolean): void {
    this.#error = message;
    this.#phase = isGone ? "gone" : "failed";
    this.#changed();
  }

  get #pageSize(): number {
    return this.options.turnLimit ?? 50;
  }

  async #loadOlder(): Promise<void> {
    const cursor = this.#state.olderCursor;
    if (cursor === undefined) return;
    const page = { threadId: this.id, includeTurns: true, turnLimit: this.#pageSize, cursor };
    const read = await this.client.request("thread/read", page);
    if (this.#state.olderCursor === cursor) this.#state.prepend(read);
    this.#changed();
  }

  async #readConfiguration(): Promise<void> {
    try {
      const { thread } = await this.client.request("thread/read", { threadId: this.id });
      this.#state.configure(thread);
      this.#changed();
    } catch {
      // It is read again with the next change, or with the Thread.
    }
  }

  #connectionChanged(): void {
    const isConnected = this.client.getSnapshot().state === "ready";
    if (!isConnected && this.#phase === "live") this.#phase = "stale";
    this.#changed();
  }

  #publish(): void {
    const all = this.client.questions.getSnapshot().filter(({ threadId }) => threadId === this.id);
    const before = this.getSnapshot();
    const isSame = all.length === before.questions.length && all.every((one, place) => one === before.questions[place]);
    const questions = isSame ? before.questions : all;
    this.set({ ...this.#state.snapshot(), id: this.id, phase: this.#phase, error: this.#error, questions });
  }

  #until(condition: (snapshot: ThreadSnapshot) => boolean): Promise<ThreadSnapshot> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const snapshot = this.getSnapshot();
        const status = this.client.getSnapshot();
        if (condition(snapshot)) resolve(snapshot);
        else if (snapshot.phase === "gone") reject(new Error(snapshot.error));
        else if (status.state === "closed") reject(new ConnectionError(status.reason));
        else return false;
        return true;
      };
      if (look()) return;
      const unsubscribe = this.subscribe(() => {
        if (look()) unsubscribe();
      });
    });
  }
}

const parts = (input: string | InputPart[]): InputPart[] =>
  typeof input === "string" ? [{ type: "text", text: input }] : input;

const flat = new WeakMap<readonly TurnState[], readonly ItemState[]>();

/** Returns the Items of all Turns in order; the same list for the same Turns. */
export function itemsOf({ turns }: { readonly turns: readonly TurnState[] }): readonly ItemState[] {
  let items = flat.get(turns);
  if (!items) {
    items = turns.flatMap((turn) => turn.items);
    flat.set(turns, items);
  }
  return items;
}

/** Returns what the agent said in a Turn. */
export function answer({ items }: { readonly items?: readonly ItemState[] }): string {
  return (items ?? []).flatMap((item) => (item.type === "agentMessage" ? [item.payload.text] : [])).join("\n\n");
}
