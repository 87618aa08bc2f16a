import type { CloseReason } from "./errors.js";

/** The part of the standard WebSocket that this library uses. */
export interface SocketLike {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onerror: ((event: unknown) => void) | null;
  /** `why` is for what is no WebSocket and has no such code. */
  onclose: ((event: { code: number; reason: string; why?: CloseReason }) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

/** What a socket can say beyond the standard. */
export interface SocketEvents {
  /** The server lives: it sent a ping. */
  alive(): void;
  /** The server answered the upgrade with another status than 101. */
  status(code: number, body: string): void;
}

/** Makes WebSockets. `token`, if given, goes into a header where that is possible, else into the address. */
export type SocketFactory = (
  url: string,
  token: string | undefined,
  events: SocketEvents,
) => SocketLike | Promise<SocketLike>;

/** Returns an address with one more member in its query. */
export function withQuery(url: string, name: string, value: string | undefined): string {
  if (value === undefined) return url;
  return `${url}${url.includes("?") ? "&" : "?"}${name}=${encodeURIComponent(value)}`;
}
