//! A real server in a new workspace, and before it a gate: it serves the built page with the strict policy and forwards the
//! WebSocket with the server's token, so that these stories are about the page and not about getting in.
import { type ChildProcess, spawn } from "node:child_process";
import { createReadStream, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../../../crates/page/dist/", import.meta.url));
const TOKEN = "a-token-of-the-tests";
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
const types: Record<string, string> = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

export class Bench {
  readonly folder = mkdtempSync(join(tmpdir(), "bobbin-page-"));
  readonly workspace = join(this.folder, "tea");
  #child: ChildProcess | undefined;
  #back = 0;
  #gate: Server | undefined;
  #sockets = new Set<Socket>();
  address = "";

  async start(): Promise<void> {
    await this.startServer();
    this.#gate = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://page");
      if (pathname === "/page/ticket") return void response.end(JSON.stringify({ ticket: "t" }));
      const file = normalize(join(dist, pathname === "/" ? "index.html" : pathname));
      if (!file.startsWith(dist) || !existsSync(file)) return void response.writeHead(404).end();
      response.writeHead(200, { "content-type": types[extname(file)] ?? "text/plain", "content-security-policy": POLICY });
      createReadStream(file).pipe(response);
    });
    this.#gate.on("upgrade", (request, client: Socket) => {
      const server = connect(this.#back, "127.0.0.1", () => {
        const headers = Object.entries(request.headers).filter(([name]) => name !== "host" && name !== "origin");
        server.write(`GET /ws?token=${TOKEN} HTTP/1.1\r\nHost: 127.0.0.1:${this.#back}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
        server.pipe(client).pipe(server);
      });
      for (const [one, other] of [[server, client], [client, server]] as const) {
        this.#sockets.add(one);
        one.on("error", () => other.destroy());
        one.on("close", () => (this.#sockets.delete(one), other.destroy()));
      }
    });
    await new Promise<void>((done) => this.#gate?.listen(0, "127.0.0.1", done));
    const at = this.#gate.address();
    this.address = `http://127.0.0.1:${typeof at === "object" ? at?.port : 0}/`;
  }

  async startServer(): Promise<void> {
    const binary = process.env.BOBBIN_BIN;
    if (!binary) throw new Error("BOBBIN_BIN names the binary to test against");
    mkdirSync(this.workspace, { recursive: true });
    writeFileSync(join(this.folder, "token"), TOKEN, { mode: 0o600 });
    const listen = `ws://127.0.0.1:${this.#back}`;
    const child = spawn(binary, ["serve", "--workspace", this.workspace, "--listen", listen, "--token-file", join(this.folder, "token"), "--state", join(this.folder, "state")], {
      env: { ...process.env, HOME: this.folder },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
      const port = /ws:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      if (port) return void (this.#back = Number(port));
    }
    throw new Error("the server has not said where it listens");
  }

  async stopServer(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill("SIGKILL");
    await ended;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#gate?.close();
    await this.stopServer();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
