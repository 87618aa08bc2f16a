// Servers that the client starts itself.
import assert from "node:assert/strict";
import { spawn as start } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { answer, connect, ConnectionError } from "../dist/index.js";
import { findServer, spawn, SpawnedClient } from "../dist/node.js";
import { needsServer, openThread, serve, TOKEN, until } from "./support.mjs";

const BIN = process.env.BOBBIN_BIN;
/** Starts a server that is this client's alone, and ends with it. */
const ALONE = [BIN, "app-server", "--listen", "ws+stdio://127.0.0.1:0"];
const clientInfo = { name: "test", version: "1" };

/** Returns what `spawn` takes for a folder of its own, which `t` removes. */
function folder(t) {
  const dir = mkdtempSync(join(tmpdir(), "bobbin-spawn-"));
  for (const name of ["home", "workspace"]) mkdirSync(join(dir, name));
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  const env = { PATH: process.env.PATH, HOME: join(dir, "home"), BOBBIN_LOG: "error" };
  return { command: ALONE, cwd: join(dir, "workspace"), env, clientInfo, maxDelayMs: 50, onStderr: () => {} };
}

const pidIn = (cwd) => JSON.parse(readFileSync(join(cwd, ".craft/appserver.lock"), "utf8")).pid;

/** Resolves when a process is gone. */
async function gone(pid, ms = 20_000) {
  for (const end = Date.now() + ms; ; await new Promise((resolve) => setTimeout(resolve, 10))) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    assert.ok(Date.now() < end, `process ${pid} goes on`);
  }
}

/** Starts a program in place of a server. It answers the handshake, then runs `code` once. */
function fake(code, options = {}) {
  const program = `
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (method === "initialize") send({ id, result: { serverInfo: {}, capabilities: {} } });
      else if (method === "initialized") { ${code} }
      else if (id !== undefined) send({ id, result: { pid: process.pid } });
    });`;
  const command = [process.execPath, "-e", program];
  return spawn({ command, clientInfo, reconnect: false, onStderr: () => {}, ...options });
}

const reasonOf = (promise) =>
  promise.then(
    () => assert.fail("it did not fail"),
    (error) => {
      assert.ok(error instanceof ConnectionError, String(error));
      return error.reason;
    },
  );

test("a server of one's own is asked, and has ended when close() resolves", needsServer, async (t) => {
  const options = folder(t);
  const own = await spawn({ ...options, handlers: { "item/approval/request": () => ({ decision: "accept" }) } });
  const pid = pidIn(options.cwd);
  const turn = await (await openThread(own)).ask("run `touch made`");
  assert.match(answer(turn), /exit code 0/);
  await own.close();
  assert.throws(() => process.kill(pid, 0));
  assert.equal((await reasonOf(own.request("model/list"))).kind, "closed");
});

test("two clients share the server that the first has started, and neither ends it", needsServer, async (t) => {
  const options = { ...folder(t), command: [BIN, "app-server"] };
  const first = await spawn(options);
  const pid = pidIn(options.cwd);
  const second = await spawn(options);
  assert.equal(pidIn(options.cwd), pid);
  const thread = await openThread(second);
  await first.close();
  assert.equal(answer(await thread.ask("say one")), "one");
  await second.close();
  assert.equal(pidIn(options.cwd), pid);
  process.kill(pid);
  await gone(pid);
});

test("a server that is killed is started again, and the Thread goes on", needsServer, async (t) => {
  const options = folder(t);
  const own = await spawn(options);
  const thread = await openThread(own);
  await thread.ask("say one");
  process.kill(pidIn(options.cwd), "SIGKILL");
  await until(own, ({ state, reason }) => state === "waiting" && reason);
  assert.equal((await thread.ask("say two")).status, "completed");
  await until(thread, ({ turns }) => turns.length === 2);
  await own.close();
});

test("a server ends when the program that started it is killed", needsServer, async (t) => {
  const options = folder(t);
  const library = new URL("../dist/node.js", import.meta.url).href;
  const { command, cwd, env } = options;
  const program = `import(${JSON.stringify(library)}).then(({ spawn }) =>
    spawn(${JSON.stringify({ command, cwd, env, clientInfo })})).then(() => console.log("up"));`;
  const parent = start(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  await once(parent.stdout, "data");
  const pid = pidIn(cwd);
  parent.kill("SIGKILL");
  await gone(pid);
});

test("who starts a server hears why it does not run, and joins the one that does", needsServer, async (t) => {
  const server = await serve(t);
  const cwd = join(server.dir, "workspace");
  const env = {
    PATH: process.env.PATH,
    HOME: join(server.dir, "home"),
    BOBBIN_STATE: join(server.dir, "state"),
    BOBBIN_TOKEN: TOKEN,
  };
  const options = { ...folder(t), cwd, env };
  const taken = await reasonOf(spawn(options));
  assert.deepEqual([taken.kind, taken.code], ["exited", 6]);
  assert.match(taken.message, /is served by process \d+ at ws:/);

  const found = await findServer({ program: BIN, cwd, env });
  assert.deepEqual(found, { url: server.url(), token: TOKEN });
  const joined = await connect({ ...found, clientInfo });
  joined.close();
  await server.end("SIGTERM");
  assert.match((await reasonOf(findServer({ program: BIN, cwd, env }))).message, /no server runs/);

  const wrong = await reasonOf(spawn({ ...options, command: [BIN, "app-server", "--nonsense"] }));
  assert.deepEqual([wrong.kind, wrong.code], ["exited", 2]);
  assert.match(wrong.message, /--nonsense/);
});

test("what cannot be started is named", async () => {
  assert.match((await reasonOf(spawn({ command: ["/nowhere/bobbin"], clientInfo }))).message, /nowhere/);
  const command = [process.execPath];
  assert.match((await reasonOf(spawn({ command, cwd: "/nowhere", clientInfo }))).message, /no folder \/nowhere/);
});

test("of a long stderr the last lines are in the reason, and it blocks nothing", async () => {
  const code = `
    for (let n = 0; n < 50_000; n++) process.stderr.write("line " + n + " " + "x".repeat(80) + "\\n");
    process.stderr.write("y".repeat(100_000) + "\\nthe end\\n", () => process.exit(3));`;
  let lines = 0;
  const own = await fake(code, { onStderr: () => (lines += 1) });
  const { reason } = await until(own, (status) => status.state === "closed" && status);
  assert.deepEqual([reason.kind, reason.code, lines], ["exited", 3, 50_002]);
  assert.match(reason.message, /line 49999 x+\ny{1000}…\nthe end$/);
  assert.ok(reason.message.length < 3_000);
});

test("a line without an end is not collected for ever", async () => {
  const code = `const part = "x".repeat(1 << 20); const more = () => process.stdout.write(part, more); more();`;
  const own = await fake(code);
  const { reason } = await until(own, (status) => status.state === "closed" && status);
  assert.match(reason.message, /more than 80 MiB/);
  await own.close();
});

test("a server that goes on after its input has ended is killed", async (t) => {
  const own = await fake("setInterval(() => {}, 1000);");
  const { pid } = await own.request("channel/list");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const closed = own.close();
  t.mock.timers.tick(8_000);
  await closed;
  assert.throws(() => process.kill(pid, 0));
});

test("a server is in a group of its own, so Ctrl-C at the program does not reach it", async (t) => {
  const own = await fake("");
  t.after(() => own.close());
  const { pid } = await own.request("channel/list");
  process.kill(-pid, 0);
});

test("programs that use require() get the same library", needsServer, async (t) => {
  const require = createRequire(import.meta.url);
  const library = { ...require("@bobbin/client"), ...require("@bobbin/client/node") };
  const own = await library.spawn(folder(t));
  assert.equal((await (await openThread(own)).ask("say hello")).status, "completed");
  await own.close();
  const server = await serve(t);
  const joined = await library.connect({ url: server.url(), token: TOKEN, clientInfo });
  joined.close();
});

test("a client that is closed before the handshake leaves no process", async () => {
  let pid;
  const command = [process.execPath, "-e", "console.error(process.pid); process.stdin.resume();"];
  const own = new SpawnedClient({ command, clientInfo, onStderr: (line) => (pid = Number(line)) });
  await new Promise((resolve) =>
    setImmediate(function look() {
      if (pid) resolve();
      else setImmediate(look);
    }),
  );
  const before = Date.now();
  await own.close();
  assert.ok(Date.now() - before < 5_000);
  assert.throws(() => process.kill(pid, 0));
});
