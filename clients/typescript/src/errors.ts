/** Why a connection ended, or why there is none. */
export interface CloseReason {
  /**
   * - `unauthorized`: the token, ticket or address is refused (HTTP 401, 403). No further attempt is made.
   * - `refused`: the server refuses the handshake. No further attempt is made.
   * - `shutdown`: the server closed the connection and said so.
   * - `tooSlow`: this client read too slowly.
   * - `tooLarge`: this client sent too large a message.
   * - `silent`: the server did not answer in time.
   * - `exited`: the process of the server has ended, or could not be started.
   * - `lost`: the connection broke, or could not be made.
   * - `closed`: `close()` was called.
   */
  readonly kind:
    | "unauthorized"
    | "refused"
    | "shutdown"
    | "tooSlow"
    | "tooLarge"
    | "silent"
    | "exited"
    | "lost"
    | "closed";
  /** For users. */
  readonly message: string;
  /** The WebSocket's code, or the exit code of a process, where there is one. */
  readonly code?: number;
}

/** The server answered with an error. `code` is one of `ErrorCode`. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(
    readonly method: string,
    readonly code: number,
    message: string,
    readonly data?: { detail?: string; reason?: string; retryAfterMs?: number; [name: string]: unknown },
  ) {
    super(data?.detail ? `${message}: ${data.detail}` : message);
  }
}

/**
 * There is no connection. `uncertain` says whether the request may have been carried out. That is only so
 * for requests that are not safe to repeat.
 */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  constructor(
    readonly reason: CloseReason,
    readonly uncertain = false,
  ) {
    super(reason.message);
  }
}

/** The answer did not come in time. The request was cancelled and may have been carried out. */
export class TimeoutError extends Error {
  override readonly name = "TimeoutError";
}

/** A bound of this library is reached: too many requests wait, or a message is too large. */
export class LimitError extends Error {
  override readonly name = "LimitError";
}

/** Thrown by a `ticket` function to end all attempts: the user has to sign in again. */
export class UnauthorizedError extends Error {
  override readonly name = "UnauthorizedError";
}

/** Returns why a WebSocket with this code was closed. */
export function closeReason(code: number, text: string): CloseReason {
  const kinds: Record<number, CloseReason["kind"]> = {
    1000: "shutdown",
    1001: "shutdown",
    1009: "tooLarge",
    1013: "tooSlow",
  };
  const kind = kinds[code] ?? "lost";
  return {
    kind,
    code,
    message: text || (kind === "lost" ? "The connection was lost." : `The server closed the connection (${code}).`),
  };
}
