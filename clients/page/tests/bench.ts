//! A real server in a new workspace. Browsers sign in with a code of `bobbin open`.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

const root = join(import.meta.dirname, "../../..");
const binary = process.env.BOBBIN_BIN ?? join(root, "target/debug/bobbin");
const xtask = process.env.BOBBIN_XTASK ?? join(dirname(binary), "bobbin-xtask");

/** Whether the scripted provider exists: `cargo build -p bobbin-xtask` makes it. */
export const hasModel = existsSync(xtask);

export interface BenchOptions {
  /** Uses the scripted provider instead of the offline model. It answers as the prompt or a script says. */
  scripted?: boolean | { replies: unknown[]; aside?: unknown };
  /** Whether the configuration leaves the scripted provider out: its address is `provider`. */
  withoutModel?: boolean;
  /** Has a node serve `tea` and further workspaces of these names. */
  node?: string[];
  /** Further arguments of `bobbin serve`. */
  args?: string[];
  /** Members of `~/.craft/config.json`. */
  config?: Record<string, unknown>;
}

export class Bench {
  readonly folder = mkdtempSync(join(tmpdir(), "bobbin-page-"));
  readonly workspace = join(this.folder, "tea");
  readonly #env = {
    PATH: process.env.PATH,
    HOME: this.folder,
    LANG: "C.UTF-8",
    BOBBIN_STATE: join(this.folder, "state"),
  };
  readonly #options: BenchOptions;
  #server: ChildProcess | undefined;
  #model: ChildProcess | undefined;
  #port = 0;
  provider = "";

  constructor(options: BenchOptions = {}) {
    if (!existsSync(binary))
      throw new Error(`${binary} is missing: cargo build -p bobbin-cli, or name another one with BOBBIN_BIN`);
    this.#options = options;
    mkdirSync(this.workspace, { recursive: true });
  }

  get isNode(): boolean {
    return this.#options.node !== undefined;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    // These settings make all machines alike. A story about one of them sets its own value.
    const alone = {
      AppServer: { WebSocket: { SharedMachine: false } },
      Model: "offline",
      Permissions: { DefaultApprovalPolicy: "default" },
    };
    const config = { ...alone, ...this.#options.config, ...(this.#options.scripted && (await this.#startModel())) };
    mkdirSync(join(this.folder, ".craft"), { recursive: true });
    writeFileSync(join(this.folder, ".craft/config.json"), JSON.stringify(config));
    // A server that starts again has the port that browsers know.
    this.#port ||= await freePort();
    await this.startServer();
  }

  async startServer(): Promise<void> {
    const listen = `ws://127.0.0.1:${this.#port}`;
    const others = this.#options.node;
    for (const name of others ? ["tea", ...others] : []) {
      mkdirSync(join(this.folder, name), { recursive: true });
      this.bobbin("workspace", "add", join(this.folder, name));
    }
    const what = others ? ["node"] : ["serve", "--workspace", this.workspace];
    this.#server = spawn(binary, [...what, "--listen", listen, ...(this.#options.args ?? [])], {
      env: this.#env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    await line(this.#server, /ws:\/\/127\.0\.0\.1:(\d+)/);
  }

  /** Kills the server, as a crash would. */
  async killServer(): Promise<void> {
    await ended(this.#server, "SIGKILL");
  }

  /** Returns the page's address with a new code. */
  invite(): string {
    return this.bobbin("open", "--print", "--workspace", this.workspace).trim();
  }

  bobbin(...args: string[]): string {
    return execFileSync(binary, args, { env: this.#env, encoding: "utf8" });
  }

  /** Signs a browser in. Returns the storage that it needs. */
  async signIn() {
    const code = new URL(this.invite()).hash.slice(1);
    const headers = { "content-type": "application/json", origin: this.origin };
    const answer = await fetch(`${this.origin}/page/session`, {
      method: "POST",
      headers,
      body: JSON.stringify({ code }),
    });
    const { secret } = (await answer.json()) as { secret: string };
    return {
      cookies: [],
      origins: [{ origin: this.origin, localStorage: [{ name: "bobbin.secret", value: secret }] }],
    };
  }

  async stop(): Promise<void> {
    await ended(this.#server, "SIGKILL");
    if (this.#options.node) this.bobbin("stop", "--all");
    await ended(this.#model, "SIGTERM");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #startModel() {
    const script = join(this.folder, "script.json");
    if (typeof this.#options.scripted === "object") writeFileSync(script, JSON.stringify(this.#options.scripted));
    this.#model = spawn(xtask, ["model-server", ...(existsSync(script) ? ["--script", script] : [])], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [, BaseUrl] = await line(this.#model, /Listening on (\S+)/);
    this.provider = BaseUrl ?? "";
    if (this.#options.withoutModel) return { Model: undefined };
    return {
      Model: "script/scripted",
      Providers: { script: { Wire: "messages", BaseUrl, Price: { Input: 1000, Output: 5000 } } },
    };
  }
}

/** Returns the first line that matches, and reads on, so that the pipe never fills. */
function line(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    lines.on("line", (text) => {
      const found = pattern.exec(text);
      if (found) resolve(found);
    });
    child.once("exit", (code) => reject(new Error(`it ended with ${code} before it was ready`)));
  });
}

async function ended(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const end = new Promise((done) => child.once("exit", done));
  child.kill(signal);
  await end;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const at = server.address();
      server.close(() => resolve(typeof at === "object" && at ? at.port : 0));
    });
  });
}
