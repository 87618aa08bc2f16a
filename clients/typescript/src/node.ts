import { execFile } from "node:child_process";

import { Client, type ClientOptions } from "./client.js";
import { ConnectionError } from "./errors.js";
import { exited, type ProcessOptions, ServerProcess } from "./process.js";

const FIND_MS = 20_000;

export type { ProcessOptions } from "./process.js";
export type SpawnOptions = Omit<ClientOptions, "url" | "token" | "ticket" | "webSocket"> & ProcessOptions;

interface Own {
  process?: ServerProcess;
  isOver: boolean;
}

/** A client with a server of its own. If the server ends, it is started again. */
export class SpawnedClient extends Client {
  readonly #own: Own;

  /** Starts the server. Failed attempts are repeated; `spawn` gives up after the first. */
  constructor(options: SpawnOptions) {
    const own: Own = { isOver: false };
    const webSocket = async () => {
      // Two servers cannot have one folder.
      await own.process?.ended;
      if (own.isOver) throw new Error("The client was closed.");
      own.process = new ServerProcess(options);
      return own.process;
    };
    super({ ...options, url: "stdio:", webSocket });
    this.#own = own;
  }

  /** Ends the server, and rejects what is not answered. Resolves once the process has ended. */
  override async close(): Promise<void> {
    this.#own.isOver = true;
    super.close();
    await this.#own.process?.ended;
  }
}

/**
 * Starts a server for the folder `cwd` and speaks with it on stdio. Rejects with a `ConnectionError` if that fails; its
 * `reason` is `exited` then, with the exit code and the last lines of stderr. Exit code 6: another server has the folder.
 */
export async function spawn(options: SpawnOptions): Promise<SpawnedClient> {
  const client = new SpawnedClient(options);
  try {
    return await client.firstAttempt();
  } catch (error) {
    await client.close();
    throw error;
  }
}

export interface FindOptions {
  /** The folder, or one in it. Default: the current directory. */
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** The program. Default `bobbin`. */
  program?: string;
}

/** Returns the address and the token of the server that runs for a folder, for `connect`. Rejects if none runs. */
export async function findServer(options: FindOptions = {}): Promise<{ url: string; token: string }> {
  // The command prints the address of the page with a code for a browser, which stays unused.
  const page = await run(options, "open", "--print");
  const token = (options.env ?? process.env).BOBBIN_TOKEN || (await run(options, "token"));
  const url = new URL("ws", page.replace(/^http/, "ws"));
  // Only browsers know the names below `localhost`.
  if (url.hostname.endsWith(".localhost")) url.hostname = "127.0.0.1";
  return { url: url.href, token };
}

function run({ program = "bobbin", ...options }: FindOptions, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { ...options, timeout: FIND_MS }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout.trim());
      const why = exited([program, ...args], child.exitCode, child.signalCode, stderr.trim() || error.message);
      reject(new ConnectionError(why));
    });
  });
}
