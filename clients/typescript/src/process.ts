import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";

import type { CloseReason } from "./errors.js";
import type { SocketLike } from "./socket.js";
import { guarded } from "./store.js";

/** Longest line that is taken from a server. Answers have up to 64 MiB. */
const MAX_LINE = 80 << 20;
/** How long a server may take to end after its input ended. */
const EXIT_MS = 8_000;
/** How long to read on after a server has ended: processes that it leaves may keep its pipes open. */
const REST_MS = 500;
/** Lines of stderr that are remembered, and characters of a line. */
const MAX_LINES = 10;
const MAX_COLUMNS = 1_000;

export interface ProcessOptions {
  /** Default: `["bobbin", "app-server"]`. */
  command?: readonly string[];
  /** The folder to serve. Default: the current directory. */
  cwd?: string;
  /** Its environment. Default: that of this process. */
  env?: Record<string, string | undefined>;
  /** Called with each line of the server's stderr. By default they go to this process's stderr. */
  onStderr?: (line: string) => void;
}

/** A server as a child process, in place of a WebSocket: each line of stdin and stdout is a message. */
export class ServerProcess implements SocketLike {
  onopen: SocketLike["onopen"] = null;
  onmessage: SocketLike["onmessage"] = null;
  onerror: SocketLike["onerror"] = null;
  onclose: SocketLike["onclose"] = null;
  /** Resolves once the process has ended. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcessWithoutNullStreams;
  /** The last lines of stderr. */
  readonly #said: string[] = [];
  #why: CloseReason | undefined;
  #kill: ReturnType<typeof setTimeout> | undefined;

  constructor({ command = ["bobbin", "app-server"], cwd, env, onStderr = toStderr }: ProcessOptions) {
    const [program = "", ...args] = command;
    // In a group of its own: Ctrl-C is for this program, which ends its server when it likes.
    const child = spawn(program, args, { cwd, env, stdio: "pipe", detached: true });
    this.#child = child;
    this.ended = new Promise((resolve) => {
      const end = (why: CloseReason) => {
        clearTimeout(this.#kill);
        resolve();
        this.onclose?.({ code: 1006, reason: "", why: this.#why ?? why });
      };
      // Whoever made this sets `onopen` and `onclose` in the meantime.
      child.once("spawn", () => setImmediate(() => this.onopen?.()));
      child.once("error", (error: NodeJS.ErrnoException) => {
        if (child.pid !== undefined) return;
        const isCwd = error.code === "ENOENT" && cwd !== undefined && !existsSync(cwd);
        const text = isCwd ? `there is no folder ${cwd}` : error.message;
        setImmediate(() => end({ kind: "exited", message: `Cannot start ${program}: ${text}` }));
      });
      child.once("exit", () => {
        const rest = setTimeout(() => {
          for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
        }, REST_MS);
        child.once("close", (code, signal) => {
          clearTimeout(rest);
          end(exited(command, code, signal, this.#said.join("\n")));
        });
      });
    });
    child.stdin.on("error", () => {}); // Its end is noticed too.
    lines(child.stdout, MAX_LINE, (line, isCut) => {
      if (!isCut) return this.onmessage?.({ data: line });
      this.#why = { kind: "lost", message: `The server sent a line of more than ${MAX_LINE >> 20} MiB.` };
      child.kill("SIGKILL");
    });
    lines(child.stderr, MAX_COLUMNS, (text, isCut) => {
      const line = isCut ? `${text}…` : text;
      this.#said.push(line);
      if (this.#said.length > MAX_LINES) this.#said.shift();
      guarded(() => onStderr(line));
    });
  }

  send(text: string): void {
    if (this.#child.stdin.writable) this.#child.stdin.write(`${text}\n`);
  }

  /** Ends the input, which ends the server; kills it if that takes too long. */
  close(): void {
    this.#child.stdin.end();
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#kill ??= setTimeout(() => this.#child.kill("SIGKILL"), EXIT_MS);
  }
}

/** Calls `take` with each line. Of one that is longer than `most` bytes it gets the first ones, at once. */
function lines(pipe: NodeJS.ReadableStream, most: number, take: (line: string, isCut: boolean) => void): void {
  let parts: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer) => {
    const left = most - length;
    length += part.length;
    if (left >= 0) parts.push(part.subarray(0, left));
    if (left >= 0 && length > most) give();
  };
  const give = () => {
    const line = Buffer.concat(parts).toString();
    parts = [];
    take(line, length > most);
  };
  pipe.on("data", (chunk: Buffer) => {
    let start = 0;
    for (let stop = chunk.indexOf(10); stop >= 0; stop = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, stop));
      if (length <= most) give();
      length = 0;
      start = stop + 1;
    }
    if (start < chunk.length) add(chunk.subarray(start));
  });
  pipe.on("end", () => {
    if (length > 0 && length <= most) give();
  });
}

/** Returns why there is no connection to a process that has ended. */
export function exited(
  command: readonly string[],
  code: number | null,
  signal: string | null,
  said: string,
): CloseReason {
  const how = code === null ? `was ended by ${signal}` : `has ended with exit code ${code}`;
  const message = `${command.slice(0, 2).join(" ")} ${how}${said && `: ${said}`}`;
  return { kind: "exited", message, ...(code !== null && { code }) };
}

const toStderr = (line: string) => void process.stderr.write(`${line}\n`);
