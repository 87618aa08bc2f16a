import { type SocketFactory, type SocketLike, withQuery } from "./socket.js";

/** Makes WebSockets of the browser. These cannot send headers, so the token goes into the address. */
export const openSocket: SocketFactory = (url, token) =>
  new WebSocket(withQuery(url, "token", token)) as unknown as SocketLike;
