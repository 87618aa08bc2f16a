//! The page's connection to the node itself: the live list of its workspaces, and what changes it.
import { socketOf, ticket } from "../server/session";
import { Store, UnauthorizedError } from "@bobbin/client";

/** The longest pause between two attempts to connect, in milliseconds. */
const LONGEST = 15_000;
/** How long an answer may take, in milliseconds. */
const ANSWER = 15_000;

/** A workspace and what goes on in it. */
export interface WorkspaceInfo {
  name: string;
  path: string;
  isRunning: boolean;
  openTurns: number;
  waiting: number;
  latest?: { threadId: string; title?: string; activeAt: string; words?: string };
  problem?: string;
}

interface Invitation {
  code?: string;
  pageUrl: string;
  remoteUrls: string[];
}

interface Methods {
  "workspace/add": { params: { path: string; name?: string }; result: { name: string } };
  "workspace/remove": { params: { name: string }; result: { name: string } };
  "device/invite": { params: { label?: string }; result: Invitation };
}

export interface NodeState {
  workspaces: readonly WorkspaceInfo[];
  /** Whether the list is of now. */
  live: boolean;
  /** Why there is no connection. */
  problem: string;
  /** Whether this browser may not connect any more. */
  isOut: boolean;
}

interface Answer {
  id?: number;
  method?: string;
  params?: { workspaces: WorkspaceInfo[] };
  result?: unknown;
  error?: { message: string };
}

class Node extends Store<NodeState> {
  #users = 0;
  /** Counts the times that nobody used it: what was started before is over. */
  #visit = 0;
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;
  #next = 0;
  readonly #calls = new Map<number, { done: (result: never) => void; failed: (error: Error) => void }>();

  constructor() {
    super({ workspaces: [], live: false, problem: "", isOut: false });
  }

  /** Stays connected until the returned function is called. */
  readonly use = (listener: () => void): (() => void) => {
    const forget = this.subscribe(listener);
    if (this.#users++ === 0) void this.#connect();
    return () => {
      forget();
      this.#users -= 1;
      if (this.#users > 0) return;
      clearTimeout(this.#timer);
      this.#visit += 1;
      this.#socket?.close();
      this.#socket = undefined;
    };
  };

  request<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    return new Promise((done, failed) => {
      if (this.#socket?.readyState !== WebSocket.OPEN) return failed(new Error("There is no connection."));
      const id = ++this.#next;
      const timer = setTimeout(() => {
        this.#calls.delete(id);
        failed(new Error("There was no answer in time."));
      }, ANSWER);
      this.#calls.set(id, {
        done: (result) => {
          clearTimeout(timer);
          done(result);
        },
        failed: (error) => {
          clearTimeout(timer);
          failed(error);
        },
      });
      this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  async #connect(): Promise<void> {
    const visit = this.#visit;
    const isOver = () => visit !== this.#visit;
    try {
      const right = await ticket();
      if (isOver()) return;
      const socket = new WebSocket(`${socketOf("/node/ws")}?ticket=${encodeURIComponent(right)}`);
      this.#socket = socket;
      socket.onmessage = ({ data }) => !isOver() && this.#receive(JSON.parse(String(data)) as Answer);
      socket.onclose = () => !isOver() && this.#lost("The connection was lost.");
    } catch (error) {
      if (isOver()) return;
      if (error instanceof UnauthorizedError) this.set({ ...this.getSnapshot(), live: false, isOut: true });
      else this.#lost(error instanceof Error ? error.message : String(error));
    }
  }

  #receive({ id, method, params, result, error }: Answer): void {
    if (method === "workspace/listChanged" && params) {
      this.#attempt = 0;
      this.set({ workspaces: params.workspaces, live: true, problem: "", isOut: false });
    } else if (id !== undefined && !method) {
      const call = this.#calls.get(id);
      this.#calls.delete(id);
      if (error) call?.failed(new Error(error.message));
      else call?.done(result as never);
    }
  }

  #lost(problem: string): void {
    this.#socket = undefined;
    for (const call of this.#calls.values()) call.failed(new Error(problem));
    this.#calls.clear();
    this.set({ ...this.getSnapshot(), live: false, problem });
    const pause = Math.min(LONGEST, 250 * 2 ** this.#attempt++);
    this.#timer = setTimeout(() => void this.#connect(), pause);
  }
}

export const node = new Node();
