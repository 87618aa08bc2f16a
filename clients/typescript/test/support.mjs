// A real server, a proxy that cuts, and a server that is made of a script.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as tcpConnect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { WebSocketServer } from "ws";

import { connect } from "../dist/index.js";

export const TOKEN = "a token of this test";
const BIN = process.env.BOBBIN_BIN;
/** For tests that need the binary. */
export const needsServer = BIN ? {} : { skip: "BOBBIN_BIN names no binary" };

/** Resolves with what the function returns once that is not false, looking after each change of the store. */
export function until(store, condition, what = String(condition), ms = 20_000) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      unsubscribe();
      reject(new Error(`waited in vain for ${what}: ${JSON.stringify(store.getSnapshot()).slice(0, 2000)}`));
    }, ms);
    const look = () => {
      const found = condition(store.getSnapshot());
      if (!found) return;
      clearTimeout(timer);
      unsubscribe();
      resolve(found);
    };
    const unsubscribe = store.subscribe(look);
    look();
  });
}

/** Starts the server in a folder of its own; `t` ends it. */
export async function serve(t, settings = {}) {
  const dir = mkdtempSync(join(tmpdir(), "bobbin-client-"));
  for (const name of ["home", "workspace", "state"]) mkdirSync(join(dir, name));
  mkdirSync(join(dir, "home/.craft"));
  writeFileSync(join(dir, "home/.craft/config.json"), JSON.stringify(settings));
  const server = { port: 0, dir };
  let child;
  server.start = async () => {
    const args = ["serve", "--workspace", join(dir, "workspace"), "--state", join(dir, "state")];
    child = spawn(BIN, [...args, "--listen", `ws://127.0.0.1:${server.port}`], {
      env: { PATH: process.env.PATH, HOME: join(dir, "home"), BOBBIN_TOKEN: TOKEN },
      stdio: ["ignore", "pipe", "ignore"],
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const port = /ws:\/\/127\.0\.0\.1:(\d+)\/ws/.exec(line)?.[1];
      if (!port) continue;
      server.port = Number(port);
      child.stdout.resume();
      return;
    }
    throw new Error("the server did not start");
  };
  server.end = async (signal) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  };
  server.url = (port = server.port) => `ws://127.0.0.1:${port}/ws`;
  t.after(async () => {
    await server.end("SIGKILL");
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  await server.start();
  return server;
}

/** Connects a client that `t` closes. */
export async function client(t, url, options = {}) {
  const made = await connect({
    url,
    token: TOKEN,
    clientInfo: { name: "test", version: "1" },
    maxDelayMs: 200,
    ...options,
  });
  t.after(() => made.close());
  return made;
}

/** Starts a Thread and opens it. */
export async function openThread(of) {
  const { thread } = await of.request("thread/start", { identity: { channelName: "test" } });
  return of.openThread(thread.id, { turnLimit: 1000 }).ready();
}

/** Passes bytes on to a port, until it cuts: at `cut()`, or after `left` bytes. */
export async function cuttingProxy(t, port) {
  const pairs = new Set();
  const proxy = { cuts: 0, left: Infinity };
  proxy.cut = () => {
    proxy.left = Infinity;
    if (pairs.size > 0) proxy.cuts += 1;
    for (const [one, other] of pairs) for (const socket of [one, other]) socket.resetAndDestroy();
    pairs.clear();
  };
  const pass = (from, to) => {
    from.on("data", (bytes) => {
      const part = bytes.subarray(0, Math.max(0, proxy.left));
      proxy.left -= bytes.length;
      to.write(part);
      if (proxy.left <= 0) setImmediate(proxy.cut);
    });
    from.on("error", () => {});
    from.on("close", () => to.destroy());
  };
  const listener = createServer((inner) => {
    const outer = tcpConnect(port(), "127.0.0.1");
    const pair = [inner, outer];
    pairs.add(pair);
    inner.on("close", () => pairs.delete(pair));
    pass(inner, outer);
    pass(outer, inner);
  });
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  proxy.port = listener.address().port;
  t.after(() => {
    proxy.cut();
    listener.close();
  });
  return proxy;
}

/** A server that answers as the test says: `answers[method](params, socket)`. */
export async function scripted(t, answers = {}) {
  const listener = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise((resolve) => listener.once("listening", resolve));
  const server = { url: `ws://127.0.0.1:${listener.address().port}/ws`, sockets: [], seen: [] };
  listener.on("connection", (socket) => {
    server.sockets.push(socket);
    socket.notify = (method, params) => socket.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
    socket.ask = (id, method, params) => socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    socket.on("message", async (text) => {
      const message = JSON.parse(text);
      server.seen.push(message);
      if (message.id === undefined || !message.method) return;
      const made = answers[message.method]?.(message.params, socket);
      const answer = made instanceof Promise ? await made : made;
      if (answer === null) return;
      const body = answer?.error ? answer : { result: answer ?? {} };
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...body }));
    });
  });
  t.after(() => {
    for (const socket of listener.clients) socket.terminate();
    listener.close();
  });
  return server;
}

/** Resolves after the messages that are on their way have been read. */
export async function settled(of) {
  await of.request("channel/list");
  await new Promise((resolve) => setTimeout(resolve, 5));
}
