export { Client, type ClientOptions, connect, type Handlers, type RequestOptions, type Status } from "./client.js";
export { type CloseReason, ConnectionError, LimitError, RpcError, TimeoutError, UnauthorizedError } from "./errors.js";
export * from "./protocol.js";
export type { Approval, Question, UserInput } from "./questions.js";
export type { SocketEvents, SocketFactory, SocketLike } from "./socket.js";
export { Store } from "./store.js";
export { ThreadList, type ThreadListOptions, type ThreadListSnapshot } from "./thread-list.js";
export type { ItemState, ThreadContents, TurnState } from "./thread-state.js";
export { itemsOf, ThreadStore, type ThreadSnapshot, type ThreadStoreOptions } from "./thread-store.js";
