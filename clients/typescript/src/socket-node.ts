import type { IncomingMessage } from "node:http";

import { type SocketFactory, type SocketLike, withQuery } from "./socket.js";

/** Longest body of a refused upgrade that is read. */
const MAX_BODY = 4096;

/** Makes WebSockets of the package `ws`, or of Node 22 and later where `ws` is not installed. */
export const openSocket: SocketFactory = async (url, token, events) => {
  const ws = await import("ws").catch(() => undefined);
  if (!ws) {
    if (!("WebSocket" in globalThis)) throw new Error("Node before 22 has no WebSocket: npm install ws");
    return new WebSocket(withQuery(url, "token", token)) as unknown as SocketLike;
  }
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const socket = new ws.WebSocket(url, { headers, handshakeTimeout: 10_000, maxPayload: 64 << 20 });
  socket.on("ping", () => events.alive());
  socket.on("unexpected-response", (_request, response: IncomingMessage) => {
    let body = "";
    response.setEncoding("utf8");
    response.on("data", (part: string) => {
      body = (body + part).slice(0, MAX_BODY);
    });
    response.on("close", () => {
      events.status(response.statusCode ?? 0, body.trim());
      socket.terminate();
    });
  });
  return socket as unknown as SocketLike;
};
