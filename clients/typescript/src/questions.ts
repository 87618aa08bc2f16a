import type { Message } from "./connection.js";
import type { ApprovalDecision, ApprovalRequestParams, RequestUserInputParams } from "./protocol.js";
import { Store } from "./store.js";

/** Answers that are remembered, in case the server asks again. */
const MAX_ANSWERED = 256;
/** How long after a reconnect the server may take to ask again. */
const GRACE_MS = 5_000;

/** A call waits for a user's decision. */
export interface Approval {
  readonly kind: "approval";
  readonly requestId: string;
  readonly threadId: string;
  readonly turnId: string;
  readonly params: ApprovalRequestParams;
  answer(decision: ApprovalDecision): void;
}

/** A model wants to know something. */
export interface UserInput {
  readonly kind: "userInput";
  readonly requestId: string;
  readonly threadId: string;
  readonly turnId: string;
  readonly params: RequestUserInputParams;
  /** Answers by the ids of the questions. */
  answer(answers: Record<string, string[]>): void;
}

export type Question = Approval | UserInput;

interface Entry {
  question: Question;
  /** The id of the request on the present connection, if the server asked on it. */
  rpcId: Message["id"] | undefined;
  result: unknown;
}

/** Sends an answer on the present connection. */
export type Reply = (rpcId: Message["id"], result: unknown) => void;

/**
 * The questions that wait for this client, oldest first. They survive a lost connection: an answer that was
 * given meanwhile, or that was lost on its way, is sent when the server asks again.
 */
export class Questions extends Store<readonly Question[]> {
  readonly #entries = new Map<string, Entry>();
  #grace: ReturnType<typeof setTimeout> | undefined;

  /** `over` is called with each question that needs no answer any more. */
  constructor(
    private readonly reply: Reply,
    private readonly over: (requestId: string) => void,
  ) {
    super([]);
  }

  /** Takes a request of the server. Returns the question if it is new. */
  asked(method: string, rpcId: Message["id"], params: Record<string, unknown>): Question | undefined {
    const requestId = String(params.requestId);
    const known = this.#entries.get(requestId);
    if (known) {
      known.rpcId = rpcId;
      if (known.result !== undefined) this.reply(rpcId, known.result);
      return undefined;
    }
    const about = { requestId, threadId: String(params.threadId), turnId: String(params.turnId) };
    const question: Question =
      method === "item/approval/request"
        ? {
            ...about,
            kind: "approval",
            params: params as unknown as ApprovalRequestParams,
            answer: (decision) => this.#answer(requestId, { decision }),
          }
        : {
            ...about,
            kind: "userInput",
            params: params as unknown as RequestUserInputParams,
            answer: (answers) =>
              this.#answer(requestId, {
                answers: Object.fromEntries(Object.entries(answers).map(([id, texts]) => [id, { answers: texts }])),
              }),
          };
    this.#entries.set(requestId, { question, rpcId, result: undefined });
    this.#show();
    return question;
  }

  /** Forgets a question that is settled. */
  settled(requestId: string): void {
    if (!this.#entries.delete(requestId)) return;
    this.over(requestId);
    this.#show();
  }

  /** Forgets a question that the server withdrew. */
  withdrawn(rpcId: Message["id"]): void {
    for (const [requestId, entry] of this.#entries) if (entry.rpcId === rpcId) this.settled(requestId);
  }

  /** The connection is lost: questions wait until the server asks them again. */
  disconnected(): void {
    clearTimeout(this.#grace);
    for (const entry of this.#entries.values()) entry.rpcId = undefined;
  }

  /** There is a connection again. Questions that are not asked again soon are over. */
  connected(): void {
    clearTimeout(this.#grace);
    if (this.#entries.size === 0) return;
    this.#grace = setTimeout(() => {
      for (const [requestId, entry] of this.#entries) if (entry.rpcId === undefined) this.settled(requestId);
    }, GRACE_MS);
  }

  close(): void {
    clearTimeout(this.#grace);
    this.#entries.clear();
    this.#show();
  }

  #answer(requestId: string, result: unknown): void {
    const entry = this.#entries.get(requestId);
    if (!entry || entry.result !== undefined) return;
    entry.result = result;
    if (entry.rpcId !== undefined) this.reply(entry.rpcId, result);
    const answered = [...this.#entries].filter(([, { result }]) => result !== undefined);
    const [oldest] = answered;
    if (oldest && answered.length > MAX_ANSWERED) this.#entries.delete(oldest[0]);
    this.#show();
  }

  #show(): void {
    const open = [...this.#entries.values()].filter(({ result }) => result === undefined);
    this.set(open.map(({ question }) => question));
  }
}
