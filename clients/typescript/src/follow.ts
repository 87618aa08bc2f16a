import { ConnectionError, RpcError } from "./errors.js";
import type { Requests, ThreadReadResult } from "./protocol.js";
import { ErrorCode } from "./values.js";

/** Messages that wait while a Thread is read. Beyond it the Thread is read again. */
const MAX_WAITING = 10_000;
const RETRY_MS = 2_000;

/** A notification about one Thread. */
export interface ThreadMessage {
  readonly method: string;
  readonly params: Record<string, unknown> & { seq?: number };
}

/** Who follows a Thread. */
export interface Follower {
  /** How many of the latest Turns to read. */
  turnLimit(): number;
  /** The Thread as a whole. */
  replace(read: ThreadReadResult): void;
  /** One change. */
  apply(message: ThreadMessage): void;
  /** Everything up to now has been applied. */
  synced(): void;
  /** The Thread cannot be followed; `isGone` says whether it is gone for good. */
  failed(message: string, isGone: boolean): void;
}

type Call = <M extends keyof Requests>(method: M, params: Requests[M]["params"]) => Promise<Requests[M]["result"]>;

/**
 * Follows one Thread over any number of connections: each numbered message reaches the follower once and in
 * order. Where the server cannot give exactly what was missed, the Thread is read again.
 */
export class Follow {
  /** Number of the last message that was applied. */
  #cursor: number | undefined;
  /** Number of the last message that listeners were given. */
  #emitted = 0;
  /** Counts connections, so that an answer of an earlier one is ignored. */
  #life = 0;
  /** Messages that wait for an answer that says what to do with them; absent when they are applied at once. */
  #waiting: ThreadMessage[] | undefined = [];
  #overflow = false;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly threadId: string,
    readonly follower: Follower,
    private readonly call: Call,
    private readonly emit: (message: ThreadMessage) => void,
  ) {}

  /** Subscribes on a new connection. */
  async start(): Promise<void> {
    const life = this.stop();
    const isCurrent = () => life === this.#life;
    this.#overflow = false;
    try {
      const after = this.#cursor === undefined ? {} : { afterSeq: this.#cursor };
      const { mode } = await this.call("thread/subscribe", { threadId: this.threadId, ...after });
      if (!isCurrent()) return;
      if (mode === "replay" && !this.#overflow) return this.#release();
      do {
        this.#overflow = false;
        const params = { threadId: this.threadId, includeTurns: true, turnLimit: this.follower.turnLimit() };
        const read = await this.call("thread/read", params);
        if (!isCurrent()) return;
        this.#cursor = read.seq;
        this.follower.replace(read);
      } while (this.#overflow);
      this.#release();
      this.follower.synced();
    } catch (error) {
      if (!isCurrent() || error instanceof ConnectionError) return;
      const isGone = error instanceof RpcError && error.code === ErrorCode.threadNotFound;
      this.follower.failed(error instanceof Error ? error.message : String(error), isGone);
      // What comes until the next attempt is beyond a gap, so that it reads the Thread.
      this.#cursor = undefined;
      if (!isGone) this.#retry = setTimeout(() => void this.start(), RETRY_MS);
    }
  }

  /** The connection is lost, or the Thread is no longer followed. Returns the number of the next life. */
  stop(): number {
    clearTimeout(this.#retry);
    this.#waiting = [];
    return ++this.#life;
  }

  /** Takes a message about the Thread, and passes it on unless it has come before. */
  receive(message: ThreadMessage): void {
    if (this.#waiting) {
      if (this.#waiting.length < MAX_WAITING) this.#waiting.push(message);
      else {
        this.#waiting = [];
        this.#overflow = true;
      }
      return;
    }
    const { seq } = message.params;
    if (message.method === "thread/synced") {
      this.#cursor = Math.max(this.#cursor ?? 0, seq ?? 0);
      this.follower.synced();
    } else {
      if (this.#isCovered(message)) return;
      this.#cursor = seq ?? this.#cursor;
      this.follower.apply(message);
      this.#emitted = Math.max(this.#emitted, seq ?? 0);
    }
    this.emit(message);
  }

  #isCovered({ method, params: { seq } }: ThreadMessage): boolean {
    return method !== "thread/synced" && seq !== undefined && this.#cursor !== undefined && seq <= this.#cursor;
  }

  /** Gives listeners, such as the list of Threads, what the reading covers, unless it has come before. */
  #emitCovered(message: ThreadMessage): void {
    const { seq = 0 } = message.params;
    if (seq <= this.#emitted) return;
    this.#emitted = seq;
    this.emit(message);
  }

  #release(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const message of waiting) {
      if (!this.#isCovered(message)) this.receive(message);
      else this.#emitCovered(message);
    }
  }
}
