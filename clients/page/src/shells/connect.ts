//! A shell on the server and a terminal on the page: output one way, typed text the other.
import { type Client, RpcError } from "@bobbin/client";
import type { Terminal } from "@xterm/xterm";
import { complain, message } from "../ui/toast";
import { binary, decoded, encoded } from "./bytes";

/** Most bytes of output that wait to be drawn. Beyond, the page skips to the newest. */
const MOST_WAITING = 1 << 20;
/** Most bytes of a request, and most that wait to be sent. */
const MOST_TYPED = 48 << 10;
const MOST_UNSENT = 4 << 20;

/** Texts of the terminal itself, after their escape: answers to questions in the output, and that it has the focus. */
const ANSWER = /^(\[[?>]?[\d;]*(\$y|[cnRIO])|[P\]].*)$/s;

interface Events {
  /** The shell has ended, or is not there any more. */
  onEnd: (code?: number) => void;
  /** The server does not let this page have it. */
  onError: (why: string) => void;
}

/** Attaches a terminal to a shell, for one connection of the client. Returns what ends that. */
export function connect(client: Client, id: string, terminal: Terminal, { onEnd, onError }: Events): () => void {
  const stop = new AbortController();
  let waiting = 0;
  // The questions in a copy of the output were answered when it was written.
  let isCopy = true;
  let isBehind = false;
  // Output before the answer is in the copy that it brings.
  let isAttaching = true;

  function attach() {
    isCopy = true;
    isAttaching = true;
    isBehind = false;
    client.request("shell/attach", { id }, { signal: stop.signal }).then(
      ({ dataBase64 }) => {
        if (stop.signal.aborted) return;
        isAttaching = false;
        terminal.reset();
        draw(decoded(dataBase64), () => {
          isCopy = false;
        });
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        if (error instanceof RpcError && error.data?.reason === "shellNotFound") onEnd();
        else onError(message(error));
      },
    );
  }

  function draw(bytes: Uint8Array, then?: () => void) {
    waiting += bytes.length;
    terminal.write(bytes, () => {
      waiting -= bytes.length;
      if (waiting === 0 && isBehind) attach();
      then?.();
    });
  }

  const type = sender((bytes) =>
    client.request("shell/write", { id, dataBase64: encoded(bytes) }, { signal: stop.signal, timeoutMs: 0 }),
  );
  const isAnswer = (data: string) => data.startsWith("\u001b") && ANSWER.test(data.slice(1));
  const text = new TextEncoder();
  const ends = [
    client.on("shell/output", (output) => {
      if (output.id !== id || isBehind || isAttaching) return;
      isBehind = waiting > MOST_WAITING;
      if (!isBehind) draw(decoded(output.dataBase64));
    }),
    client.on("shell/skipped", (skipped) => skipped.id === id && attach()),
    client.on("shell/exited", (exited) => exited.id === id && onEnd(exited.code)),
  ];
  const listeners = [
    terminal.onData((data) => {
      if (!(isCopy && isAnswer(data))) type(text.encode(data));
    }),
    terminal.onBinary((data) => type(binary(data))),
    terminal.onResize(({ cols, rows }) => {
      client.request("shell/resize", { id, columns: cols, rows }, { signal: stop.signal }).catch(() => {
        // The next answer says that it has ended.
      });
    }),
  ];
  attach();
  return () => {
    stop.abort();
    for (const end of ends) end();
    for (const listener of listeners) listener.dispose();
    client.request("shell/detach", { id }).catch(() => {
      // The connection is gone, and its attachments with it.
    });
  };
}

/** Returns a function that sends bytes in order, one request at a time. */
function sender(send: (bytes: Uint8Array) => Promise<unknown>): (bytes: Uint8Array) => void {
  let unsent = new Uint8Array();
  let isSending = false;
  async function flush() {
    isSending = true;
    try {
      while (unsent.length > 0) {
        const next = unsent.subarray(0, MOST_TYPED);
        unsent = unsent.subarray(next.length);
        await send(next);
      }
    } catch (error) {
      unsent = new Uint8Array();
      if (!(error instanceof DOMException)) complain(error);
    }
    isSending = false;
  }
  return (bytes) => {
    if (unsent.length + bytes.length > MOST_UNSENT) return complain(new Error("This is too much to type at once."));
    const all = new Uint8Array(unsent.length + bytes.length);
    all.set(unsent);
    all.set(bytes, unsent.length);
    unsent = all;
    if (!isSending) void flush();
  };
}
