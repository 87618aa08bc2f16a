import { type Address, Connection, type Message } from "./connection.js";
import { type CloseReason, ConnectionError, TimeoutError, UnauthorizedError } from "./errors.js";
import { Follow, type Follower, type ThreadMessage } from "./follow.js";
import { Outbox, type RequestOptions } from "./outbox.js";
import type {
  ClientCapabilities,
  ClientInfo,
  ClientNotifications,
  InitializeResult,
  Notifications,
  Requests,
  ServerRequests,
} from "./protocol.js";
import { type Question, Questions } from "./questions.js";
import type { SocketFactory } from "./socket.js";
import { withQuery } from "./socket.js";
import { guarded, Store } from "./store.js";
import { ThreadList, type ThreadListOptions } from "./thread-list.js";
import { ThreadStore, type ThreadStoreOptions } from "./thread-store.js";
import { ErrorCode } from "./values.js";
import { openSocket } from "#socket";

const SILENCE_MS = 30_000;
const TICKET_MS = 15_000;
const MAX_DELAY_MS = 30_000;
/** A connection that lasted so long was a good one. */
const STABLE_MS = 5_000;

export interface ClientOptions {
  /** For example `ws://127.0.0.1:9100/ws`. */
  url: string;
  /** The server's token. Node sends it in a header, browsers in the address. */
  token?: string;
  /** Makes a ticket for each connection. A thrown `UnauthorizedError` ends all attempts. */
  ticket?: () => Promise<string>;
  clientInfo: ClientInfo;
  /**
   * What this client can do. `eventCursors` is on, `approvalSupport` off unless given here or
   * `handlers` has `item/approval/request`.
   */
  capabilities?: Partial<ClientCapabilities>;
  /** Answers requests of the server. The signal is aborted when the answer is no longer wanted. */
  handlers?: Handlers;
  /** Makes WebSockets; by default those of the browser, the package `ws`, or Node. */
  webSocket?: SocketFactory;
  /** Whether to connect again after a lost connection. Default `true`. */
  reconnect?: boolean;
  /** Longest pause between two attempts. Default 30 s; the first ones are short. */
  maxDelayMs?: number;
  /** After so long without a message the server is asked whether it lives. Default 30 s. */
  silenceMs?: number;
}

export type Handlers = {
  [M in keyof ServerRequests]?: (
    params: ServerRequests[M]["params"],
    signal: AbortSignal,
  ) => Promise<ServerRequests[M]["result"]> | ServerRequests[M]["result"];
};

export type Status =
  | { readonly state: "connecting"; readonly attempt: number }
  | { readonly state: "ready"; readonly server: InitializeResult }
  /** The next attempt is made at `retryAt`. */
  | { readonly state: "waiting"; readonly attempt: number; readonly retryAt: number; readonly reason: CloseReason }
  | { readonly state: "closed"; readonly reason: CloseReason };

type Params<M extends keyof Requests> = Requests[M]["params"];
/** The parameters may be left out where none is required. */
type Arguments<M extends keyof Requests> =
  // biome-ignore lint/complexity/noBannedTypes: `{}` extends a type only if all of its members are optional
  {} extends Params<M> ? [params?: Params<M>, options?: RequestOptions] : [params: Params<M>, options?: RequestOptions];

/** A client of one server, over any number of connections. Its value is its status. */
export class Client extends Store<Status> {
  /** Questions of the server that wait for this user. */
  readonly questions: Questions;
  readonly #options: ClientOptions;
  readonly #listeners = new Map<string, Set<(params: never) => void>>();
  readonly #outbox = new Outbox();
  readonly #follows = new Map<string, Follow>();
  readonly #threads = new Map<string, { store: ThreadStore; users: number }>();
  readonly #calls = new Map<string, AbortController>();
  readonly #unlisten: () => void;
  #connection: Connection | undefined;
  /** The latest one, whose handshake may not be over. */
  #opening: Connection | undefined;
  #attempt = 0;
  #readyAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** What the server said of itself on the last connection. */
  server: InitializeResult | undefined;

  /** Begins to connect. Failed attempts are repeated. */
  constructor(options: ClientOptions) {
    super({ state: "connecting", attempt: 0 });
    this.#options = options;
    this.questions = new Questions(
      (id, result) => this.#connection?.answer(id, { result }),
      (requestId) => this.#calls.get(requestId)?.abort(),
    );
    this.#unlisten = this.#watchNetwork();
    void this.#connect();
  }

  /** Resolves on the first connection. Rejects when there can be none. */
  async ready(): Promise<this> {
    const state = () => this.getSnapshot();
    await this.#until(() => ["ready", "closed"].includes(state().state));
    const status = state();
    if (status.state === "closed") throw new ConnectionError(status.reason);
    return this;
  }

  /** Resolves once a first attempt has succeeded; rejects, and gives up, if it fails. */
  async firstAttempt(): Promise<this> {
    await this.#until(() => this.getSnapshot().state !== "connecting");
    const status = this.getSnapshot();
    if (status.state === "waiting") this.#end(status.reason);
    return this.ready();
  }

  /**
   * Makes a request. A request that is safe to repeat is sent again after a lost connection: those that read,
   * and those of `ONCE`, which get a `clientRequestId`. Others reject with an uncertain `ConnectionError`.
   */
  request<M extends keyof Requests>(method: M, ...[params, options]: Arguments<M>): Promise<Requests[M]["result"]> {
    const status = this.getSnapshot();
    if (status.state === "closed") return Promise.reject(new ConnectionError(status.reason));
    return this.#outbox.request(method, params, options ?? {}) as Promise<Requests[M]["result"]>;
  }

  /** Sends a notification, if there is a connection. */
  notify<M extends keyof ClientNotifications>(method: M, params: ClientNotifications[M]): void {
    this.#connection?.notify(method, params);
  }

  /** Calls the listener for each notification of a method, until the returned function is called. */
  on<M extends keyof Notifications>(method: M, listener: (params: Notifications[M]) => void): () => void {
    const listeners = this.#listeners.get(method) ?? new Set();
    this.#listeners.set(method, listeners.add(listener as (params: never) => void));
    return () => listeners.delete(listener as (params: never) => void);
  }

  /** Returns the live state of a Thread, shared by all who open it. Call its `close()` when done. */
  openThread(threadId: string, options?: ThreadStoreOptions): ThreadStore {
    const open = this.#threads.get(threadId);
    if (open) {
      open.users += 1;
      return open.store;
    }
    const store: ThreadStore = new ThreadStore(this, threadId, options ?? {}, () => {
      const entry = this.#threads.get(threadId);
      if (entry?.store !== store || --entry.users > 0) return false;
      this.#threads.delete(threadId);
      return true;
    });
    this.#threads.set(threadId, { store, users: 1 });
    return store;
  }

  /** Returns the live list of Threads. Call its `close()` when done. */
  openThreadList(options: ThreadListOptions): ThreadList {
    return new ThreadList(this, options);
  }

  /** @internal Has a Thread followed, over all connections. Returns the function that ends it. */
  follow(threadId: string, follower: Follower): () => void {
    const follow = new Follow(
      threadId,
      follower,
      (method, params) => this.request(method, ...([params] as unknown as Arguments<typeof method>)),
      (message) => this.#emit(message),
    );
    this.#follows.set(threadId, follow);
    if (this.#connection) void follow.start();
    return () => {
      if (this.#follows.get(threadId) !== follow) return;
      follow.stop();
      this.#follows.delete(threadId);
      if (this.#connection) this.request("thread/unsubscribe", { threadId }).catch(() => {});
    };
  }

  /** Connects at once if an attempt waits for its time; else finds out whether the server still answers. */
  wake(): void {
    if (this.getSnapshot().state === "waiting") void this.#connect();
    else this.#connection?.probe();
  }

  /** Ends the connection, and rejects what is not answered. */
  close(): void {
    this.#end({ kind: "closed", message: "The client was closed." });
  }

  async #connect(): Promise<void> {
    clearTimeout(this.#timer);
    const { ticket, url, token, webSocket = openSocket, silenceMs = SILENCE_MS } = this.#options;
    this.#attempt += 1;
    this.set({ state: "connecting", attempt: this.#attempt });
    const connection: Connection = new Connection(
      {
        onMessage: (message) => this.#receive(message),
        onClose: (reason) => this.#lost(reason),
      },
      silenceMs,
    );
    this.#opening = connection;
    try {
      const address: Address = { url: ticket ? withQuery(url, "ticket", await inTime(ticket())) : url, token };
      const server = await connection.open(address, webSocket, this.#hello());
      if (this.getSnapshot().state === "closed") return connection.end({ kind: "closed", message: "" });
      if (connection.isEnded) return;
      this.#connection = connection;
      this.#readyAt = Date.now();
      this.server = server;
      this.questions.connected();
      this.set({ state: "ready", server });
      for (const follow of this.#follows.values()) void follow.start();
      this.#outbox.connected(connection);
    } catch (error) {
      if (this.getSnapshot().state === "closed") return;
      if (error instanceof UnauthorizedError) this.#end({ kind: "unauthorized", message: error.message });
      else if (error instanceof ConnectionError) this.#lost(error.reason);
      else this.#lost({ kind: "lost", message: error instanceof Error ? error.message : String(error) });
    }
  }

  #hello() {
    const { clientInfo, capabilities, handlers } = this.#options;
    const approvalSupport = handlers?.["item/approval/request"] !== undefined;
    const userInputSupport = handlers?.["item/tool/requestUserInput"] !== undefined;
    return { clientInfo, capabilities: { eventCursors: true, approvalSupport, userInputSupport, ...capabilities } };
  }

  #lost(reason: CloseReason): void {
    if (this.getSnapshot().state === "closed") return;
    // One that ends at once is as good as none: the pauses grow.
    if (this.#connection && Date.now() - this.#readyAt > STABLE_MS) this.#attempt = 0;
    this.#connection = undefined;
    this.questions.disconnected();
    for (const [key, call] of this.#calls) if (key.startsWith(CALL)) call.abort();
    for (const follow of this.#follows.values()) follow.stop();
    this.#outbox.lost(reason);
    if (reason.kind === "unauthorized" || reason.kind === "refused" || this.#options.reconnect === false) {
      return this.#end(reason);
    }
    const { maxDelayMs = MAX_DELAY_MS } = this.#options;
    const delay = Math.min(maxDelayMs, 200 * 2 ** Math.min(this.#attempt, 10)) * (0.5 + Math.random() / 2);
    this.set({ state: "waiting", attempt: this.#attempt, retryAt: Date.now() + delay, reason });
    this.#timer = setTimeout(() => void this.#connect(), delay);
  }

  #end(reason: CloseReason): void {
    if (this.getSnapshot().state === "closed") return;
    clearTimeout(this.#timer);
    this.#unlisten();
    const connections = [this.#connection, this.#opening];
    this.#connection = this.#opening = undefined;
    this.set({ state: "closed", reason });
    for (const connection of connections) connection?.end(reason);
    for (const call of this.#calls.values()) call.abort();
    this.#calls.clear();
    this.questions.close();
    for (const follow of this.#follows.values()) follow.stop();
    this.#outbox.end(reason);
  }

  #receive(message: Message): void {
    if (message.method === undefined) return this.#outbox.answered(message);
    const params = message.params ?? {};
    if (message.id !== undefined && message.id !== null) return this.#asked(message.method, message.id, params);
    if (message.method === "$/cancelRequest") return this.#withdrawn(params.id as Message["id"]);
    const notification: ThreadMessage = { method: message.method, params };
    const follow = this.#follows.get(threadOf(params) ?? "");
    if (follow) follow.receive(notification);
    else this.#emit(notification);
  }

  #asked(method: string, id: number | string, params: Record<string, unknown>): void {
    const handler = this.#options.handlers?.[method as keyof ServerRequests] as
      | ((params: unknown, signal: AbortSignal) => unknown)
      | undefined;
    if (method === "item/approval/request" || method === "item/tool/requestUserInput") {
      const question = this.questions.asked(method, id, params);
      if (question && handler) void this.#ask(question, handler);
      return;
    }
    void this.#serve(method, id, params, handler);
  }

  /** Has the user's handler answer a request that is no question. */
  async #serve(
    method: string,
    id: number | string,
    params: Record<string, unknown>,
    handler: ((params: unknown, signal: AbortSignal) => unknown) | undefined,
  ): Promise<void> {
    const connection = this.#connection;
    const fail = (code: number, message: string) => connection?.answer(id, { error: { code, message } });
    if (!handler) return fail(ErrorCode.methodNotFound, `Method not found: ${method}`);
    try {
      const result = await this.#call(callKey(id), handler, params);
      connection?.answer(id, { result: result ?? {} });
    } catch (error) {
      fail(ErrorCode.internalError, String(error));
    }
  }

  /** Has the user's handler answer a question. One that throws declines. */
  async #ask(question: Question, handler: (params: unknown, signal: AbortSignal) => unknown): Promise<void> {
    try {
      const result = (await this.#call(question.requestId, handler, question.params)) as never;
      if (question.kind === "approval") question.answer((result as { decision: "accept" }).decision);
      else {
        const { answers } = result as { answers: Record<string, { answers: string[] }> };
        question.answer(Object.fromEntries(Object.entries(answers).map(([id, { answers }]) => [id, answers])));
      }
    } catch (error) {
      if (!(error instanceof Error && error.name === "AbortError")) console.error(error);
      if (question.kind === "approval") question.answer("decline");
      else question.answer({});
    }
  }

  async #call(
    key: string,
    handler: (params: unknown, signal: AbortSignal) => unknown,
    params: unknown,
  ): Promise<unknown> {
    const controller = new AbortController();
    this.#calls.set(key, controller);
    try {
      return await handler(params, controller.signal);
    } finally {
      this.#calls.delete(key);
    }
  }

  #withdrawn(id: Message["id"]): void {
    this.questions.withdrawn(id);
    this.#calls.get(callKey(id))?.abort();
  }

  #emit({ method, params }: ThreadMessage): void {
    const requestId = settledQuestion(method, params);
    if (requestId !== undefined) this.questions.settled(requestId);
    for (const listener of [...(this.#listeners.get(method) ?? [])]) guarded(() => listener(params as never));
  }

  #until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      if (condition()) return resolve();
      const unsubscribe = this.subscribe(() => {
        if (!condition()) return;
        unsubscribe();
        resolve();
      });
    });
  }

  /** Connects as soon as a browser is online or looked at again. */
  #watchNetwork(): () => void {
    if (typeof window === "undefined" || typeof document === "undefined") return () => {};
    const wake = () => {
      if (document.visibilityState === "visible") this.wake();
    };
    window.addEventListener("online", wake);
    document.addEventListener("visibilitychange", wake);
    return () => {
      window.removeEventListener("online", wake);
      document.removeEventListener("visibilitychange", wake);
    };
  }
}

/** Calls that end with their connection. Those of questions go on. */
const CALL = "call ";
const callKey = (id: unknown) => `${CALL}${String(id)}`;

/** Rejects if a ticket takes too long. */
function inTime(ticket: Promise<string>): Promise<string> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError("There was no ticket in time.")), TICKET_MS);
  });
  return Promise.race([ticket, late]).finally(() => clearTimeout(timer));
}

/** Returns the Thread that a notification is about. */
function threadOf(params: Record<string, unknown>): string | undefined {
  const { threadId, thread, turn } = params as {
    threadId?: string;
    thread?: { id: string };
    turn?: { threadId: string };
  };
  return threadId ?? thread?.id ?? turn?.threadId;
}

/** Returns the question that a notification says is settled. */
function settledQuestion(method: string, params: Record<string, unknown>): string | undefined {
  if (method === "item/tool/requestUserInput/resolved") return params.requestId as string;
  if (method !== "item/approval/resolved") return undefined;
  return (params as { item?: { payload?: { requestId?: string } } }).item?.payload?.requestId;
}

/** Connects to a server. Rejects if the first attempt fails. */
export function connect(options: ClientOptions): Promise<Client> {
  return new Client(options).firstAttempt();
}
