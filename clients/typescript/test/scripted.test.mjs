// Against servers that do what real ones seldom do.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, connect, ErrorCode, LimitError, RpcError, TimeoutError, UnauthorizedError } from "../dist/index.js";
import { client, scripted, settled, until } from "./support.mjs";

const hello = { clientInfo: { name: "test", version: "1" } };
const overloaded = { error: { code: ErrorCode.overloaded, message: "later", data: { retryAfterMs: 1 } } };
const thread = (turns = []) => ({
  id: "t",
  workspacePath: "/w",
  originChannel: "test",
  source: { kind: "user" },
  status: "active",
  historyMode: "server",
  createdAt: "2027-01-01T00:00:00Z",
  lastActiveAt: "2027-01-01T00:00:00Z",
  metadata: {},
  queuedInputs: [],
  turns,
  runtime: { running: false, waitingOnApproval: false, waitingOnPlanConfirmation: false },
});
const turn = (items = []) => ({
  id: "turn_001",
  threadId: "t",
  status: "running",
  startedAt: "2027-01-01T00:00:00Z",
  items,
});
const message = (text) => ({
  id: "item_001",
  turnId: "turn_001",
  type: "agentMessage",
  payloadKind: "agentMessage",
  status: "streaming",
  createdAt: "2027-01-01T00:00:00Z",
  payload: { text },
});
const delta = (text, seq) => ({
  threadId: "t",
  turnId: "turn_001",
  itemId: "item_001",
  deltaKind: "agentMessage",
  delta: text,
  seq,
});
const shown = (store) => store.getSnapshot().turns[0]?.items[0]?.payload.text;

test("unknown notifications, broken frames and answers nobody waits for change nothing", async (t) => {
  const server = await scripted(t);
  const own = await client(t, server.url);
  const [socket] = server.sockets;
  socket.notify("tea/boiled", { degrees: 100 });
  socket.send("{");
  socket.send(Buffer.from([1, 2, 3]));
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 999, result: {} }));
  await settled(own);
  assert.equal(own.getSnapshot().state, "ready");
});

test("an unknown request of the server is answered with an error", async (t) => {
  const server = await scripted(t);
  const own = await client(t, server.url);
  server.sockets[0].ask(7, "tea/pour", {});
  await settled(own);
  assert.equal(server.seen.find(({ id, error }) => id === 7 && error).error.code, ErrorCode.methodNotFound);
});

test("a handler's result is the answer; what it throws or cannot be sent is an error", async (t) => {
  const server = await scripted(t);
  const handler = ({ tool }) => {
    if (tool === "spill") throw new Error("wet");
    return { success: true, errorMessage: "x".repeat(tool === "flood" ? 5 << 20 : 1) };
  };
  const own = await client(t, server.url, { handlers: { "item/tool/call": handler } });
  for (const [id, tool] of ["pour", "spill", "flood"].entries()) server.sockets[0].ask(id, "item/tool/call", { tool });
  await settled(own);
  const answers = server.seen.filter(({ method }) => method === undefined);
  assert.deepEqual(answers.map(({ id, result, error }) => [id, result?.success ?? error.message]).sort(), [
    [0, true],
    [1, "Error: wet"],
    [2, "LimitError: A message may have 4 MiB."],
  ]);
});

test("a listener that throws disturbs no other", async (t) => {
  t.mock.method(console, "error", () => {});
  const server = await scripted(t);
  const own = await client(t, server.url);
  const heard = [];
  own.on("thread/renamed", () => {
    throw new Error("no");
  });
  own.on("thread/renamed", ({ displayName }) => heard.push(displayName));
  server.sockets[0].notify("thread/renamed", { threadId: "t", displayName: "Tea" });
  await settled(own);
  assert.deepEqual(heard, ["Tea"]);
});

for (const [code, kind] of [
  [1000, "shutdown"],
  [1013, "tooSlow"],
  [1009, "tooLarge"],
  [1011, "lost"],
]) {
  test(`a close with code ${code} is ${kind}, and the client comes back`, async (t) => {
    const server = await scripted(t);
    const own = await client(t, server.url);
    server.sockets[0].close(code, "because");
    const { reason } = await until(own, (status) => status.state === "waiting" && status);
    assert.deepEqual(reason, { kind, code, message: "because" });
    await own.ready();
    assert.equal(server.sockets.length, 2);
  });
}

test("a refused handshake ends all attempts", async (t) => {
  const server = await scripted(t, { initialize: () => ({ error: { code: -32602, message: "no name" } }) });
  await assert.rejects(connect({ url: server.url, ...hello }), ({ reason }) => reason.kind === "refused");
  assert.equal(server.sockets.length, 1);
});

test("each connection has a ticket of its own, and an unauthorized user ends all attempts", async (t) => {
  const server = await scripted(t);
  let tickets = 0;
  const ticket = async () => {
    if (tickets === 2) throw new UnauthorizedError("sign in");
    return `ticket-${++tickets}`;
  };
  const own = await client(t, server.url, { ticket, token: undefined });
  server.sockets[0].terminate();
  await until(own, ({ state }) => state === "waiting");
  await own.ready();
  server.sockets[1].terminate();
  const { reason } = await until(own, (status) => status.state === "closed" && status);
  assert.deepEqual(reason, { kind: "unauthorized", message: "sign in" });
});

test("a silent server is left for another connection", async (t) => {
  let isDead = false;
  const server = await scripted(t, { "channel/list": () => (isDead ? null : {}) });
  const own = await client(t, server.url, { silenceMs: 40 });
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(server.sockets.length, 1, "one that answers is not left");
  isDead = true;
  const { reason } = await until(own, (status) => status.state === "waiting" && status);
  assert.equal(reason.kind, "silent");
});

test("late timers, as in hidden pages, do not end a connection", async (t) => {
  const server = await scripted(t);
  t.mock.timers.enable({ apis: ["Date"], now: 1 });
  const own = await client(t, server.url, { silenceMs: 40 });
  for (let minute = 1; minute < 4; minute += 1) {
    t.mock.timers.setTime(60_000 * minute);
    const probes = () => server.seen.filter(({ method }) => method === "channel/list").length;
    while (probes() < minute && own.getSnapshot().state === "ready")
      await new Promise((resolve) => setTimeout(resolve, 5));
    // Its answer has come before the next minute: one that comes in it would be a sign of life there.
    await own.request("model/list");
  }
  assert.equal(own.getSnapshot().state, "ready");
});

test("a write is sent again under its name, another request is uncertain", async (t) => {
  const answers = {
    "turn/start": (_params, socket) => {
      if (server.sockets.length > 1) return { turn: turn() };
      socket.terminate();
      return null;
    },
    "mcp/test": () => null,
  };
  const server = await scripted(t, answers);
  const own = await client(t, server.url);
  const uncertain = own.request("mcp/test", { server: { name: "x" } });
  const started = own.request("turn/start", { threadId: "t", input: [] });
  await assert.rejects(uncertain, (error) => error.uncertain === true);
  assert.equal((await started).turn.id, "turn_001");
  const names = server.seen.filter(({ method }) => method === "turn/start").map(({ params }) => params.clientRequestId);
  assert.equal(names.length, 2);
  assert.equal(names[0], names[1]);
});

test("an overloaded server is asked again, and no more than it takes at once", async (t) => {
  let [open, most, refusals] = [0, 0, 3];
  const answers = {
    "thread/read": async () => {
      if (refusals-- > 0) return overloaded;
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 5));
      open -= 1;
      return { thread: thread() };
    },
  };
  const server = await scripted(t, answers);
  const own = await client(t, server.url);
  const read = () => own.request("thread/read", { threadId: "t" });
  await Promise.all(Array.from({ length: 200 }, read));
  assert.ok(most <= 32, `${most} at once`);
});

test("a request has an end: its time, its signal, the bounds, the client's", async (t) => {
  const server = await scripted(t, { "thread/read": () => null });
  const own = await client(t, server.url);
  const read = (options) => own.request("thread/read", { threadId: "t" }, options);
  await assert.rejects(read({ timeoutMs: 10 }), TimeoutError);
  const controller = new AbortController();
  const aborted = read({ signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(aborted, /enough/);
  await settled(own);
  assert.equal(server.seen.filter(({ method }) => method === "$/cancelRequest").length, 2);
  const large = own.request("turn/start", { threadId: "t", input: [{ type: "text", text: "x".repeat(5 << 20) }] });
  await assert.rejects(large, LimitError);
  const many = Array.from({ length: 1100 }, () => read().catch((error) => error));
  own.close();
  const ends = await Promise.all(many);
  assert.ok(ends.every(({ name }) => ["ConnectionError", "LimitError"].includes(name)));
  await assert.rejects(read(), /closed/);
});

test("what comes while a Thread is read is applied once, behind the reading", async (t) => {
  const answers = {
    "thread/subscribe": (_params, socket) => {
      setImmediate(() => socket.notify("item/agentMessage/delta", delta("old ", 10)));
      return { seq: 8 };
    },
    "thread/read": (_params, socket) => {
      socket.notify("item/agentMessage/delta", delta("new", 30));
      return { thread: thread([turn([message("the old ")])]), seq: 20 };
    },
  };
  const server = await scripted(t, answers);
  const own = await client(t, server.url);
  const store = await own.openThread("t").ready();
  await until(store, () => shown(store) === "the old new");
});

test("what was missed is replayed behind the cursor, or read where that cannot be exact", async (t) => {
  const modes = [undefined, "replay", "snapshot"];
  const cursors = [];
  const answers = {
    "thread/subscribe": ({ afterSeq }, socket) => {
      cursors.push(afterSeq);
      const mode = modes[server.sockets.length - 1];
      setImmediate(() => {
        if (mode !== "replay") return;
        socket.notify("item/agentMessage/delta", delta("again", 20));
        socket.notify("item/agentMessage/delta", delta(" two", 30));
        socket.notify("thread/synced", { threadId: "t", seq: 39 });
      });
      return { seq: 39, ...(mode && { mode }) };
    },
    "thread/read": () => ({
      thread: thread([turn([message(server.sockets.length === 1 ? "one" : "three")])]),
      seq: 20,
    }),
  };
  const server = await scripted(t, answers);
  const own = await client(t, server.url);
  const store = await own.openThread("t").ready();
  assert.equal(shown(store), "one");
  for (const text of ["one two", "three"]) {
    server.sockets.at(-1).terminate();
    await until(store, ({ phase }) => phase === "stale");
    await until(store, ({ phase }) => phase === "live" && shown(store) === text);
  }
  assert.deepEqual(cursors, [undefined, 20, 39]);
});

test("a Thread is subscribed to before a Turn in it is started again", async (t) => {
  const answers = {
    "thread/subscribe": ({ afterSeq }) => ({ seq: 20, ...(afterSeq !== undefined && { mode: "replay" }) }),
    "thread/read": () => ({ thread: thread([]), seq: 20 }),
    "turn/start": (_params, socket) => {
      if (server.sockets.length > 1) return { turn: turn() };
      socket.terminate();
      return null;
    },
  };
  const server = await scripted(t, answers);
  const own = await client(t, server.url);
  await own.openThread("t").ready();
  const before = server.seen.length;
  await own.request("turn/start", { threadId: "t", input: [] });
  const again = server.seen.slice(before).map(({ method }) => method);
  const kept = again.filter((method) => method === "turn/start" || method === "thread/subscribe");
  assert.deepEqual(kept, ["turn/start", "thread/subscribe", "turn/start"]);
});

test("a Thread whose subscription was refused is read", async (t) => {
  const cursors = [];
  const answers = {
    "thread/subscribe": ({ afterSeq }) => {
      cursors.push(afterSeq);
      if (server.sockets.length === 2 && cursors.length === 2) return refused;
      return { seq: 20 };
    },
    "thread/read": () => ({ thread: thread([]), seq: 20 }),
  };
  const refused = { error: { code: -32603, message: "not now" } };
  const server = await scripted(t, answers);
  const own = await client(t, server.url);
  const store = await own.openThread("t").ready();
  server.sockets.at(-1).terminate();
  await until(store, ({ phase }) => phase === "failed");
  await until(store, ({ phase }) => phase === "live");
  assert.deepEqual(cursors, [undefined, 20, undefined]);
});

test("listeners get each message once, also when a replay overlaps what has come", async (t) => {
  const overlap = (socket) => {
    for (const seq of [10, 20]) socket.notify("item/agentMessage/delta", delta(`${seq} `, seq));
  };
  const answers = {
    "thread/subscribe": ({ afterSeq }, socket) => {
      overlap(socket);
      setImmediate(() => {
        overlap(socket);
        socket.notify("item/agentMessage/delta", delta("30", 30));
        socket.notify("thread/synced", { threadId: "t", seq: 39 });
      });
      return { seq: 39, mode: afterSeq === undefined ? "snapshot" : "replay" };
    },
    "thread/read": () => ({ thread: thread([turn([message("")])]), seq: 5 }),
  };
  const server = await scripted(t, answers);
  const own = await client(t, server.url);
  const seqs = [];
  own.on("item/agentMessage/delta", ({ seq }) => seqs.push(seq));
  const store = await own.openThread("t").ready();
  await until(store, () => shown(store) === "10 20 30");
  server.sockets.at(-1).terminate();
  await until(store, ({ phase }) => phase === "stale");
  await until(store, ({ phase }) => phase === "live");
  await settled(own);
  assert.deepEqual(seqs, [10, 20, 30]);
});

test("an answer that was lost is given when the server asks again", async (t) => {
  const server = await scripted(t);
  const own = await client(t, server.url, { capabilities: { approvalSupport: true } });
  const params = {
    threadId: "t",
    turnId: "turn_001",
    itemId: "item_001",
    requestId: "abc",
    approvalType: "shell",
    operation: "x",
    target: "/",
    scopeKey: "s",
  };
  server.sockets[0].ask(1, "item/approval/request", params);
  const [question] = await until(own.questions, (questions) => questions.length > 0 && questions);
  server.sockets[0].terminate();
  await until(own, ({ state }) => state === "waiting");
  question.answer("accept");
  assert.deepEqual(own.questions.getSnapshot(), []);
  await own.ready();
  server.sockets[1].ask(1, "item/approval/request", params);
  await settled(own);
  assert.deepEqual(server.seen.findLast(({ result }) => result).result, { decision: "accept" });
});

test("a question that another client has answered is over", async (t) => {
  const server = await scripted(t);
  const signals = [];
  const handler = (_params, signal) => new Promise(() => signals.push(signal));
  const own = await client(t, server.url, { handlers: { "item/approval/request": handler } });
  const about = { threadId: "t", turnId: "turn_001" };
  server.sockets[0].ask(1, "item/approval/request", { ...about, requestId: "abc" });
  await until(own.questions, (questions) => questions.length === 1);
  server.sockets[0].notify("item/approval/resolved", { ...about, item: { payload: { requestId: "abc" } } });
  await until(own.questions, (questions) => questions.length === 0);
  assert.equal(signals[0].aborted, true);
});

test("a client that nobody waits for goes on trying", async (t) => {
  const own = new Client({ url: "ws://127.0.0.1:1/ws", ...hello });
  t.after(() => own.close());
  const { reason } = await until(own, (status) => status.state === "waiting" && status);
  assert.equal(reason.kind, "lost");
  await assert.rejects(connect({ url: "ws://127.0.0.1:1/ws", ...hello }));
  assert.ok(RpcError);
});
