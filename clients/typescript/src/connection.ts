import { closeReason, type CloseReason, ConnectionError, LimitError } from "./errors.js";
import type { InitializeParams, InitializeResult } from "./protocol.js";
import type { SocketFactory, SocketLike } from "./socket.js";

/** Longest message that a server takes. */
const MAX_MESSAGE = 4 << 20;
const HANDSHAKE_MS = 15_000;

/** A message of JSON-RPC, as it was parsed. */
export interface Message {
  id?: number | string | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number; message: string; data?: Record<string, unknown> };
}

/** Who learns what a connection brings. */
export interface Receiver {
  onMessage(message: Message): void;
  onClose(reason: CloseReason): void;
}

export interface Address {
  url: string;
  token?: string | undefined;
}

/** One WebSocket, from its handshake to its end. Knows nothing of other connections. */
export class Connection {
  server: InitializeResult | undefined;
  #socket: SocketLike | undefined;
  /** Whether this connection is over. */
  get isEnded(): boolean {
    return this.#ended;
  }

  #ended = false;
  /** Rejects `open` while that waits. */
  #fail: ((reason: CloseReason) => void) | undefined;
  #lastHeard = Date.now();
  #refusal: CloseReason | undefined;
  #silence: ReturnType<typeof setInterval> | undefined;
  #nextId = 0;
  /** When the server was asked whether it lives, if it has said nothing since. */
  #probedAt: number | undefined;

  constructor(
    private readonly receiver: Receiver,
    private readonly silenceMs: number,
  ) {}

  /** Connects and shakes hands. Rejects with a `ConnectionError`; then `onClose` is not called. */
  async open(address: Address, factory: SocketFactory, hello: InitializeParams): Promise<InitializeResult> {
    const silent: CloseReason = { kind: "silent", message: "The server did not answer in time." };
    let timer: ReturnType<typeof setTimeout> | undefined;
    if (this.#ended) throw new ConnectionError(silent);
    try {
      return await new Promise<InitializeResult>((resolve, reject) => {
        const fail = (reason: CloseReason) => reject(new ConnectionError(reason));
        this.#fail = fail;
        timer = setTimeout(() => fail(silent), HANDSHAKE_MS);
        this.#connect(address, factory, hello, resolve, fail).catch((error: unknown) =>
          fail({ kind: "lost", message: error instanceof Error ? error.message : String(error) }),
        );
      });
    } catch (error) {
      this.#drop();
      throw error;
    } finally {
      clearTimeout(timer);
      this.#fail = undefined;
    }
  }

  async #connect(
    address: Address,
    factory: SocketFactory,
    hello: InitializeParams,
    resolve: (server: InitializeResult) => void,
    fail: (reason: CloseReason) => void,
  ): Promise<void> {
    const socket = await factory(address.url, address.token, {
      alive: () => this.#heard(),
      status: (code, body) => {
        const kind = code === 401 || code === 403 ? "unauthorized" : "lost";
        this.#refusal = { kind, code, message: `The server refuses the connection: ${body || code}` };
      },
    });
    if (this.#ended) return socket.close();
    this.#socket = socket;
    const id = this.#nextId++;
    socket.onopen = () => this.#write({ id, method: "initialize", params: hello as never });
    socket.onerror = (event) => {
      if (this.server) return;
      const { message } = event as { message?: string };
      const lost: CloseReason = { kind: "lost", message: `Cannot connect: ${message || "there is no answer"}` };
      this.#refusal ??= lost;
      // A close follows, but not in every implementation.
      setTimeout(() => fail(this.#refusal ?? lost), 100);
    };
    socket.onclose = ({ code, reason, why = closeReason(code, reason) }) => {
      if (this.server) this.end(why);
      else fail(this.#refusal ?? why);
    };
    socket.onmessage = ({ data }) => {
      this.#heard();
      const message = parse(data);
      if (!message) return;
      if (this.server) return this.receiver.onMessage(message);
      if (message.id !== id || message.method) return;
      if (message.error) {
        return fail({ kind: "refused", message: `The server refuses this client: ${message.error.message}` });
      }
      this.server = message.result as InitializeResult;
      this.#write({ method: "initialized", params: {} });
      this.#silence = setInterval(() => this.#listen(), this.silenceMs / 4);
      (this.#silence as { unref?: () => void }).unref?.();
      resolve(this.server);
    };
  }

  /** Sends a request and returns its id. */
  request(method: string, params: unknown): number {
    const id = this.#nextId++;
    this.#write({ id, method, params: params as never });
    return id;
  }

  notify(method: string, params: unknown): void {
    this.#write({ method, params: params as never });
  }

  answer(id: Message["id"], result: { result: unknown } | { error: { code: number; message: string } }): void {
    this.#write({ id: id ?? null, ...result });
  }

  /** Finds out soon whether the server still answers. */
  probe(): void {
    if (!this.server || this.#ended || this.#probedAt !== undefined) return;
    this.#probedAt = Date.now();
    // The smallest request there is; its answer is constant.
    this.request("channel/list", {});
  }

  /** Ends the connection; its receiver, or who opens it, learns why. */
  end(reason: CloseReason): void {
    if (this.#ended) return;
    if (this.#fail) return this.#fail(reason);
    this.#drop();
    this.receiver.onClose(reason);
  }

  #drop(): void {
    this.#ended = true;
    clearInterval(this.#silence);
    const socket = this.#socket;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.onerror = () => {};
    socket.close();
  }

  #heard(): void {
    this.#lastHeard = Date.now();
    this.#probedAt = undefined;
  }

  #listen(): void {
    // Timers of hidden pages are late: only a server that was asked can be too late.
    if (this.#probedAt === undefined) {
      if (Date.now() - this.#lastHeard >= this.silenceMs) this.probe();
    } else if (Date.now() - this.#probedAt >= this.silenceMs / 2) {
      this.end({ kind: "silent", message: "The server did not answer in time." });
    }
  }

  #write(message: Message): void {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    // Each character is at least one byte; only where that leaves it open are the bytes counted.
    if (text.length > MAX_MESSAGE / 3 && new TextEncoder().encode(text).length > MAX_MESSAGE) {
      throw new LimitError(`A message may have ${MAX_MESSAGE >> 20} MiB.`);
    }
    if (!this.#ended) this.#socket?.send(text);
  }
}

function parse(data: unknown): Message | undefined {
  if (typeof data !== "string") return undefined;
  try {
    const message: unknown = JSON.parse(data);
    return message && typeof message === "object" ? (message as Message) : undefined;
  } catch {
    return undefined;
  }
}
