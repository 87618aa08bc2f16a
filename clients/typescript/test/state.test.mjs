// Snapshots of a Thread: what is shared between them, and what they cost.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ThreadState } from "../dist/thread-state.js";

const about = (number) => ({ threadId: "t", turnId: `turn_${number}` });
const item = (number, id, text, status = "completed") => ({
  id: `item_${id}`,
  turnId: `turn_${number}`,
  type: "agentMessage",
  payloadKind: "agentMessage",
  status,
  createdAt: "",
  payload: { text },
});
const turn = (number, items) => ({
  id: `turn_${number}`,
  threadId: "t",
  status: "completed",
  startedAt: "",
  completedAt: "",
  items,
});
const read = (turns) => ({ thread: { id: "t", queuedInputs: [], turns }, seq: 1 });
const delta = (number, id, text) => ({
  method: "item/agentMessage/delta",
  params: { ...about(number), itemId: `item_${id}`, delta: text },
});

test("what has not changed is the same object", () => {
  const state = new ThreadState();
  state.replace(
    read([
      turn(1, [item(1, 1, "a")]),
      { ...turn(2, [item(2, 1, "b"), item(2, 2, "c", "started")]), completedAt: undefined },
    ]),
  );
  const before = state.snapshot();
  assert.equal(state.snapshot(), before);
  state.apply(delta(2, 2, "d"));
  const after = state.snapshot();
  assert.notEqual(after, before);
  assert.equal(after.turns[0], before.turns[0]);
  assert.equal(after.turns[1].items[0], before.turns[1].items[0]);
  assert.equal(before.turns[1].items[1].payload.text, "c");
  assert.equal(after.turns[1].items[1].payload.text, "cd");
  const final = { ...item(2, 2, "cd!"), completedAt: "now" };
  state.apply({ method: "item/completed", params: { ...about(2), item: final } });
  state.apply({ method: "turn/completed", params: { turn: turn(2, [item(2, 1, "b"), final]) } });
  const ended = state.snapshot();
  assert.equal(ended.turns[1].items[0], before.turns[1].items[0]);
  assert.equal(ended.turns[1].items[1], final);
});

test("Turns that are taken back are gone, and a delta of one is ignored", () => {
  const state = new ThreadState();
  state.replace(read([turn(1, []), turn(2, []), turn(3, [])]));
  state.apply({ method: "thread/rolledBack", params: { threadId: "t", firstTurnId: "turn_2", numTurns: 2 } });
  state.apply(delta(3, 1, "late"));
  assert.deepEqual(
    state.snapshot().turns.map(({ id }) => id),
    ["turn_1"],
  );
});

test("the cost of a Thread is that of its finished Turns, loaded or not", () => {
  const state = new ThreadState();
  const open = { ...turn(3, []), completedAt: undefined, status: "running" };
  state.replace({ thread: { id: "t", queuedInputs: [], turns: [open], cost: 2 }, seq: 1 });
  state.apply({ method: "item/usage/delta", params: { ...about(3), inputTokens: 1, outputTokens: 1, cost: 0.5 } });
  assert.equal(state.snapshot().thread.cost, 2);
  assert.equal(state.snapshot().turns[0].cost, 0.5);
  const ended = { method: "turn/completed", params: { turn: { ...turn(3, []), completedAt: "now", cost: 0.75 } } };
  // The end is seen twice: with the answer of a reading, and with a replay.
  for (const message of [ended, ended]) state.apply(message);
  assert.equal(state.snapshot().thread.cost, 2.75);
});

test("what a Turn waits for is over with its next message", () => {
  const state = new ThreadState();
  state.replace(read([{ ...turn(1, []), completedAt: undefined, status: "running" }]));
  state.apply({ method: "turn/waiting", params: { ...about(1), message: "Retrying in 1 s (2 of 4)" } });
  assert.equal(state.snapshot().turns[0].waiting, "Retrying in 1 s (2 of 4)");
  state.apply({ method: "item/started", params: { ...about(1), item: item(1, 1, "a", "started") } });
  assert.equal(state.snapshot().turns[0].waiting, undefined);
});

test("ten thousand Items and many deltas cost little", (t) => {
  const state = new ThreadState();
  const items = Array.from({ length: 10_000 }, (_, place) => item(1, place, `text ${place}`));
  const open = { ...turn(1, [...items, item(1, "open", "", "started")]), completedAt: undefined };
  state.replace(read([open]));
  const started = performance.now();
  const [frames, deltas] = [600, 10];
  for (let frame = 0; frame < frames; frame += 1) {
    for (let one = 0; one < deltas; one += 1) state.apply(delta(1, "open", "word "));
    state.snapshot();
  }
  const each = (performance.now() - started) / frames;
  assert.equal(state.snapshot().turns[0].items.at(-1).payload.text.length, frames * deltas * 5);
  t.diagnostic(`${each.toFixed(3)} ms for ${deltas} deltas and a snapshot`);
  assert.ok(each < 8, `${each} ms a frame`);
});
