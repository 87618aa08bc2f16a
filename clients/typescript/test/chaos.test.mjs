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
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test(`${ROUNDS} rounds of cuts and kills leave the state equal to the store's`, { ...needsServer, timeout: 60_000 + ROUNDS * 20_000 }, async (t) => {
  const below = random(SEED);
  let server;
  const proxy = await cuttingProxy(t, () => server.port);
  server = await serve(t, { AppServer: { AllowedHosts: [`127.0.0.1:${proxy.port}`] } });
  const own = await client(t, server.url(proxy.port), {
    capabilities: { toolExecutionLifecycle: true, commandExecutionStreaming: true },
    handlers: { "item/approval/request": () => ({ decision: "accept" }) },
  });
  const thread = await openThread(own);
  const completed = new Set();
  own.on("item/completed", ({ turnId, item }) => {
    const key = `${turnId} ${item.id}`;
    assert.ok(!completed.has(key), `${key} came twice`);
    completed.add(key);
  });
  const counts = { kills: 0, snapshots: 0 };
  const { replace } = thread;
  thread.replace = (read) => {
    counts.snapshots += 1;
    replace.call(thread, read);
  };

  for (let round = 1; round <= ROUNDS; round += 1) {
    const asked = thread.ask(`run \`echo ${round} >> made; seq ${below(400)}\`\nsay ${"one two three ".repeat(below(40))}`);
    const about = `round ${round} of seed ${SEED}`;
    if (round % 4 === 0) {
      await pause(below(120));
      counts.kills += 1;
      await server.end("SIGKILL");
      await server.start();
    } else {
      for (let cuts = 1 + below(3); cuts > 0; cuts -= 1) {
        proxy.left = 1 + below(6_000);
        await pause(below(150));
      }
    }
    const turn = await asked;
    proxy.left = Infinity;
    assert.ok(turn.completedAt, about);
    await until(thread, ({ phase, thread }) => phase === "live" && !thread.runtime.running, about);
    const other = await client(t, server.url(), { capabilities: { toolExecutionLifecycle: true } });
    const read = await other.request("thread/read", { threadId: thread.id, includeTurns: true });
    other.close();
    const { turns, lastActiveAt, queuedInputs, ...stored } = read.thread;
    const now = thread.getSnapshot();
    assert.deepEqual(now.turns.map(asStored), turns, about);
    assert.equal(turns.length, round, about);
    assert.deepEqual(now.queuedInputs, queuedInputs, about);
    const { lastActiveAt: _, queuedInputs: __, ...known } = now.thread;
    assert.deepEqual(known, stored, about);
  }
  const made = readFileSync(join(server.dir, "workspace/made"), "utf8").trim().split("\n");
  assert.equal(new Set(made).size, made.length, "a command ran twice");
  t.diagnostic(`${ROUNDS} rounds, ${proxy.cuts} cuts, ${counts.kills} kills, ${counts.snapshots} readings, seed ${SEED}`);
});
