// Connections are cut at any byte and the server is killed, while Turns run. In the end the client knows what
// the store knows, and everything was done once. CHAOS_ROUNDS=200 for a long run, CHAOS_SEED to repeat one.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { client, cuttingProxy, needsServer, openThread, serve, until } from "./support.mjs";

const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? 10);
const SEED = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000);

/** A row of numbers below a bound, the same for a seed (mulberry32). */
function random(seed) {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}

const asStored = ({ diff, reverted, ...turn }) => turn;
const textOf = ({ payload }) => payload.text ?? payload.aggregatedOutput;

/** Checks at each change that streamed text only grows, and that it grows into the final text. */
function watchText(store, isCalm, faults) {
  const texts = new Map();
  return store.subscribe(() => {
    for (const item of store.getSnapshot().turns.at(-1)?.items ?? []) {
      const key = `${item.turnId} ${item.id}`;
      const [before, now] = [texts.get(key) ?? "", textOf(item) ?? ""];
      if (isCalm() && !now.startsWith(before))
        faults.push(`${key}: ${JSON.stringify(before)} became ${JSON.stringify(now)}`);
      texts.set(key, now);
    }
  });
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test(`${ROUNDS} rounds of cuts and kills leave the state equal to the store's`, {
  ...needsServer,
  timeout: 60_000 + ROUNDS * 20_000,
}, async (t) => {
  const below = random(SEED);
  let server;
  const proxy = await cuttingProxy(t, () => server.port);
  server = await serve(t, { AppServer: { AllowedHosts: [`127.0.0.1:${proxy.port}`] } });
  const own = await client(t, server.url(proxy.port), {
    capabilities: { toolExecutionLifecycle: true, commandExecutionStreaming: true },
    handlers: { "item/approval/request": () => ({ decision: "accept" }) },
  });
  const thread = await openThread(own);
  const faults = [];
  const completed = new Set();
  own.on("item/completed", ({ turnId, item }) => {
    const key = `${turnId} ${item.id}`;
    if (completed.has(key)) faults.push(`${key} came twice`);
    completed.add(key);
  });
  const counts = { kills: 0, reconnects: 0, statuses: {} };
  own.subscribe(() => (counts.reconnects += own.getSnapshot().state === "ready" ? 1 : 0));
  // Another client that only looks, over the same broken line.
  const other = await client(t, server.url(proxy.port), { capabilities: { toolExecutionLifecycle: true } });
  const watched = await other.openThread(thread.id, { turnLimit: 1000 }).ready();

  // What a killed server had streamed and not stored is streamed again.
  let isCalm = true;
  for (const store of [thread, watched]) watchText(store, () => isCalm, faults);

  let inputs = 0;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const about = `round ${round} of seed ${SEED}`;
    const prompt = `run \`echo ${round} >> made; seq ${below(400)}\`\nsay ${"one two three ".repeat(below(200))}`;
    const asked = thread.ask(prompt);
    let late;
    inputs += 1;
    isCalm = round % 4 !== 0;
    if (!isCalm) {
      await pause(below(120));
      counts.kills += 1;
      await server.end("SIGKILL");
      await server.start();
    } else {
      const renamed =
        round % 4 === 1 && own.request("thread/rename", { threadId: thread.id, displayName: `Tea ${round}` });
      for (let cuts = 1 + below(3); cuts > 0; cuts -= 1) {
        proxy.left = 1 + below(6_000);
        await pause(below(150));
      }
      await renamed;
      // One more comes in the middle of what happens.
      late = await client(t, server.url(), { capabilities: { toolExecutionLifecycle: true } });
      watchText(late.openThread(thread.id, { turnLimit: 1000 }), () => true, faults);
      if (round % 4 === 2) {
        inputs += 1;
        await thread.enqueue(`say later ${round}`);
      }
    }
    const turn = await asked;
    proxy.left = Infinity;
    counts.statuses[turn.status] = 1 + (counts.statuses[turn.status] ?? 0);

    const isDone = ({ phase, thread, turns }) =>
      phase === "live" &&
      !thread.runtime.running &&
      turns.length === inputs &&
      turns.every(({ completedAt }) => completedAt);
    const stores = [thread, watched, ...(late ? [late.openThread(thread.id)] : [])];
    for (const store of stores) await until(store, isDone, about);
    const reader = await client(t, server.url(), { capabilities: { toolExecutionLifecycle: true } });
    const read = await reader.request("thread/read", { threadId: thread.id, includeTurns: true });
    reader.close();
    const { turns, lastActiveAt, ...stored } = read.thread;
    for (const store of stores) {
      const now = store.getSnapshot();
      assert.deepEqual(now.turns.map(asStored), turns, about);
      assert.deepEqual(now.queuedInputs, stored.queuedInputs, about);
      assert.deepEqual({ ...now.thread, lastActiveAt }, { ...stored, lastActiveAt }, about);
    }
    assert.deepEqual(own.questions.getSnapshot(), [], about);
    assert.deepEqual(faults, [], about);
    late?.close();
  }
  const made = readFileSync(join(server.dir, "workspace/made"), "utf8").trim().split("\n");
  assert.equal(new Set(made).size, made.length, "a command ran twice");
  const turns = Object.entries(counts.statuses).map(([status, number]) => `${number} ${status}`);
  t.diagnostic(
    `${ROUNDS} rounds, ${proxy.cuts} cuts, ${counts.kills} kills, ${counts.reconnects} reconnects; ${turns.join(", ")}; seed ${SEED}`,
  );
});
