import type { Connection, Message } from "./connection.js";
import { type CloseReason, ConnectionError, LimitError, RpcError, TimeoutError } from "./errors.js";
import { ErrorCode, ONCE } from "./values.js";

/** Requests that are sent and not answered at most; a server takes 32. */
const MAX_IN_FLIGHT = 28;
/** Requests that wait for their turn or for a connection. */
const MAX_WAITING = 1_000;
const REQUEST_MS = 120_000;
/** Requests that change nothing, by their last word. */
const READS =
  /(^|\/)(list|read|get|search|find|grep|view|explain|stats|status|diff|branches|plan|suggestions|schema|segment|validate|logs)$/;
/** Subscriptions end with their connection, and start again on the next one. */
const OF_CONNECTION = new Set(["thread/subscribe", "thread/unsubscribe"]);

export interface RequestOptions {
  /** How long to wait, through reconnects. Default 120 s, 0 for ever. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

interface Pending {
  readonly method: string;
  readonly params: object;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Forgets its timer and its signal. */
  readonly forget: () => void;
  attempts: number;
}

/** The requests without an answer, over any number of connections. */
export class Outbox {
  /** All of them: sent, waiting, or waiting out an overload. */
  readonly #open = new Set<Pending>();
  readonly #inFlight = new Map<number, Pending>();
  #waiting: Pending[] = [];
  #connection: Connection | undefined;

  /** Makes a request now, or as soon as there is a connection and few enough are unanswered. */
  request(
    method: string,
    params: object | undefined,
    { timeoutMs = REQUEST_MS, signal }: RequestOptions,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (this.#waiting.length >= MAX_WAITING) return reject(new LimitError(`${MAX_WAITING} requests are waiting.`));
      const abort = () => this.#giveUp(pending, signal?.reason);
      const late = () => this.#giveUp(pending, new TimeoutError(`${method} was not answered in ${timeoutMs} ms.`));
      const timer = timeoutMs > 0 ? setTimeout(late, timeoutMs) : undefined;
      signal?.addEventListener("abort", abort, { once: true });
      const forget = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      };
      const name = ONCE.has(method) ? { clientRequestId: randomName() } : {};
      const pending: Pending = { method, params: { ...name, ...params }, resolve, reject, forget, attempts: 0 };
      this.#open.add(pending);
      this.#waiting.push(pending);
      this.#pump();
    });
  }

  /**
   * Sends what waits on a new connection, subscriptions first: a Turn that is started before its Thread is subscribed
   * to sends events beyond those that were missed.
   */
  connected(connection: Connection): void {
    this.#connection = connection;
    const isFirst = ({ method }: Pending) => OF_CONNECTION.has(method);
    this.#waiting = [...this.#waiting.filter(isFirst), ...this.#waiting.filter((one) => !isFirst(one))];
    this.#pump();
  }

  /** The connection is lost: what is safe to repeat waits for the next one. */
  lost(reason: CloseReason): void {
    this.#connection = undefined;
    const repeated: Pending[] = [];
    for (const pending of this.#inFlight.values()) {
      if (ONCE.has(pending.method) || READS.test(pending.method)) repeated.push(pending);
      else this.#reject(pending, new ConnectionError(reason, !OF_CONNECTION.has(pending.method)));
    }
    this.#inFlight.clear();
    this.#waiting = [...repeated, ...this.#waiting];
  }

  /** There will be no further connection. */
  end(reason: CloseReason): void {
    this.#connection = undefined;
    this.#inFlight.clear();
    this.#waiting = [];
    for (const pending of this.#open) this.#reject(pending, new ConnectionError(reason, pending.attempts > 0));
  }

  /** Takes an answer. */
  answered({ id, error, result }: Message): void {
    const pending = this.#inFlight.get(id as number);
    if (!pending) return;
    this.#inFlight.delete(id as number);
    if (error?.code === ErrorCode.overloaded) {
      const wait = Number(error.data?.retryAfterMs ?? Math.min(5_000, 50 * 2 ** pending.attempts));
      setTimeout(() => this.#again(pending), wait * (1 + Math.random() / 2));
    } else if (error) {
      this.#reject(pending, new RpcError(pending.method, error.code, error.message, error.data));
    } else {
      this.#close(pending);
      pending.resolve(result);
    }
    this.#pump();
  }

  #pump(): void {
    while (this.#connection && this.#inFlight.size < MAX_IN_FLIGHT) {
      const pending = this.#waiting.shift();
      if (!pending) return;
      try {
        this.#inFlight.set(this.#connection.request(pending.method, pending.params), pending);
        pending.attempts += 1;
      } catch (error) {
        this.#reject(pending, error);
      }
    }
  }

  #again(pending: Pending): void {
    if (!this.#open.has(pending)) return;
    this.#waiting.unshift(pending);
    this.#pump();
  }

  /** Rejects a request that is no longer wanted, and has the server cancel it. */
  #giveUp(pending: Pending, error: unknown): void {
    this.#reject(pending, error);
    this.#waiting = this.#waiting.filter((other) => other !== pending);
    for (const [id, sent] of this.#inFlight) {
      if (sent !== pending) continue;
      this.#inFlight.delete(id);
      this.#connection?.notify("$/cancelRequest", { id });
    }
    this.#pump();
  }

  #reject(pending: Pending, error: unknown): void {
    this.#close(pending);
    pending.reject(error);
  }

  #close(pending: Pending): void {
    this.#open.delete(pending);
    pending.forget();
  }
}

/** Returns 128 random bits. `randomUUID` is missing from pages without TLS. */
function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
