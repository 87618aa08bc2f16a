// Against the real server.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { connect, ErrorCode, itemsOf, RpcError } from "../dist/index.js";
import { client, needsServer, openThread, serve, settled, TOKEN, until } from "./support.mjs";

const text = (turn) =>
  turn.items
    .filter(({ type }) => type === "agentMessage")
    .map(({ payload }) => payload.text)
    .join("");

test("a client shakes hands, asks, and sees the answer arrive", needsServer, async (t) => {
  const server = await serve(t);
  const own = await client(t, server.url());
  assert.equal(own.getSnapshot().state, "ready");
  assert.equal(own.getSnapshot().server.capabilities.eventCursors, true);

  const thread = await openThread(own);
  let streamed = "";
  own.on("item/agentMessage/delta", ({ delta }) => (streamed += delta));
  const turn = await thread.ask("say the kettle boils");
  assert.equal(turn.status, "completed");
  assert.match(text(turn), /the kettle boils/);
  assert.equal(streamed, text(turn));
  assert.equal(itemsOf(thread.getSnapshot()), itemsOf(thread.getSnapshot()));
});

for (const [decision, isMade] of [
  ["accept", true],
  ["decline", false],
]) {
  test(`a command is run or not as the user says: ${decision}`, needsServer, async (t) => {
    const server = await serve(t);
    const own = await client(t, server.url(), { capabilities: { approvalSupport: true } });
    const thread = await openThread(own);
    const asked = thread.ask("run `touch made`");
    const [question] = await until(thread, ({ questions }) => questions.length > 0 && questions);
    assert.equal(question.params.operation, "touch made");
    assert.equal(thread.getSnapshot().turns.at(-1).status, "waitingApproval");
    assert.deepEqual(own.questions.getSnapshot(), [question]);
    question.answer(decision);
    assert.equal((await asked).status, "completed");
    assert.equal(existsSync(join(server.dir, "workspace/made")), isMade);
    assert.deepEqual(thread.getSnapshot().questions, []);
  });
}

test("a handler answers, and one that throws declines", needsServer, async (t) => {
  const server = await serve(t);
  t.mock.method(console, "error", () => {});
  const handler = ({ operation }) => {
    if (operation.includes("bad")) throw new Error("no");
    return { decision: "accept" };
  };
  const own = await client(t, server.url(), { handlers: { "item/approval/request": handler } });
  const thread = await openThread(own);
  await thread.ask("run `touch good`");
  await thread.ask("run `touch bad`");
  assert.equal(existsSync(join(server.dir, "workspace/good")), true);
  assert.equal(existsSync(join(server.dir, "workspace/bad")), false);
});

test("another client's Thread is followed, and its question answered", needsServer, async (t) => {
  const server = await serve(t);
  const [one, other] = [
    await client(t, server.url()),
    await client(t, server.url(), { capabilities: { approvalSupport: true } }),
  ];
  const list = other.openThreadList({ identity: { channelName: "test" } });
  t.after(() => list.close());
  await until(list, ({ phase }) => phase === "live");
  const theirs = await openThread(one);
  await until(list, ({ threads }) => threads.some(({ id }) => id === theirs.id));
  const mine = await other.openThread(theirs.id).ready();

  const asked = theirs.ask("run `touch made`");
  const [question] = await until(mine, ({ questions }) => questions.length > 0 && questions);
  await until(list, ({ threads }) => threads[0].runtime.waitingOnApproval);
  question.answer("accept");
  const turn = await asked;
  await until(mine, ({ turns }) => turns.at(-1)?.completedAt);
  assert.deepEqual(mine.getSnapshot().turns, [turn]);
  await until(list, ({ threads }) => !threads[0].runtime.running && threads[0].turnCount === 1);

  await one.request("thread/mode/set", { threadId: theirs.id, mode: "plan" });
  await until(mine, ({ thread }) => thread.configuration?.mode === "plan");
  await one.request("thread/rename", { threadId: theirs.id, displayName: "Tea" });
  await until(mine, ({ thread }) => thread.displayName === "Tea");
  await until(list, ({ threads }) => threads[0].displayName === "Tea");
  await one.request("thread/delete", { threadId: theirs.id });
  await until(mine, ({ phase }) => phase === "gone");
  await until(list, ({ threads }) => threads.length === 0);
});

test("older Turns are read in pages", needsServer, async (t) => {
  const server = await serve(t);
  const own = await client(t, server.url());
  const whole = await openThread(own);
  for (let number = 0; number < 5; number += 1) await whole.ask(`say ${number}`);
  const second = await client(t, server.url());
  const paged = await second.openThread(whole.id, { turnLimit: 2 }).ready();
  assert.equal(paged.getSnapshot().turns.length, 2);
  while (paged.getSnapshot().hasOlderTurns) {
    await paged.loadOlder();
    await settled(second);
  }
  assert.deepEqual(paged.getSnapshot().turns, whole.getSnapshot().turns);
});

test("a Turn is stopped, an input waits its turn, and Turns are taken back", needsServer, async (t) => {
  const server = await serve(t);
  const own = await client(t, server.url(), { capabilities: { approvalSupport: true } });
  const thread = await openThread(own);
  const asked = thread.ask("run `touch made`");
  await until(thread, ({ questions }) => questions.length > 0);
  await thread.enqueue("say later");
  await until(thread, ({ queuedInputs }) => queuedInputs.length === 1);
  await thread.interrupt();
  assert.equal((await asked).status, "cancelled");
  await until(thread, ({ questions }) => questions.length === 0);
  await own.request("thread/rollback", { threadId: thread.id, numTurns: 1 });
  await until(thread, ({ turns }) => turns.every(({ id }) => id !== "turn_001"));
});

test("a wrong token ends all attempts", needsServer, async (t) => {
  const server = await serve(t);
  const wrong = connect({ url: server.url(), token: "wrong", clientInfo: { name: "test", version: "1" } });
  await assert.rejects(wrong, (error) => error.reason.kind === "unauthorized" && error.reason.code === 401);
});

test("an error of the server has its code and what it says", needsServer, async (t) => {
  const server = await serve(t);
  const own = await client(t, server.url());
  const refused = own.request("turn/start", {
    threadId: "thread_20270101_none00",
    input: [{ type: "text", text: "x" }],
  });
  await assert.rejects(refused, (error) => error instanceof RpcError && error.code === ErrorCode.threadNotFound);
  const gone = own.openThread("thread_20270101_none00");
  await assert.rejects(gone.ready(), /not found/);
});

test("a client says why the server went, and comes back with it", needsServer, async (t) => {
  const server = await serve(t);
  const own = await client(t, server.url());
  const thread = await openThread(own);
  await thread.ask("say one");
  await server.end("SIGTERM");
  const { reason } = await until(own, (status) => status.state === "waiting" && status);
  assert.equal(thread.getSnapshot().turns.length, 1);
  assert.ok(["shutdown", "lost"].includes(reason.kind), reason.kind);
  const later = thread.ask("say two");
  await server.start();
  assert.equal((await later).status, "completed");
  assert.equal(thread.getSnapshot().turns.length, 2);
});

test("the token is not in the address", needsServer, async (t) => {
  const server = await serve(t);
  const own = await client(t, server.url(), { token: TOKEN });
  assert.equal(own.getSnapshot().state, "ready");
});
