//! A shell on the server and a terminal on the page: output one way, typed text the other.
import { type Client, RpcError } from "@bobbin/client";
import type { Terminal } from "@xterm/xterm";
import { complain, message } from "../ui/toast";
import { binary, decoded, encoded } from "./bytes";
import { isAnswer, sender, shownBefore } from "./typing";

/** Most bytes of output that wait to be drawn. Beyond, the page skips to the newest. */
const MOST_WAITING = 1 << 20;

interface Events {
  /** Whether this page has opened the shell and shows it for the first time. */
  takeNew: () => boolean;
  /** The shell has ended, or is not there any more. */
  onEnd: (code?: number) => void;
  /** The server does not let this page have it. */
  onError: (why: string) => void;
}

/** Attaches a terminal to a shell, for one connection of the client. Returns what ends that. */
export function connect(
  client: Client,
  id: string,
  terminal: Terminal,
  { takeNew, onEnd, onError }: Events,
): () => void {
  const stop = new AbortController();
  let waiting = 0;
  /** Up to where this page has drawn the output, and could answer the questions in it. */
  let drawn: number | undefined;
  /** The output that is drawn was drawn before, and its questions are not asked again. */
  let isCopy = false;
  let isBehind = false;
  // Output before the answer is in the copy that it brings.
  let isAttaching = true;

  function attach() {
    isAttaching = true;
    isBehind = false;
    client.request("shell/attach", { id }, { signal: stop.signal }).then(
      ({ dataBase64, position }) => {
        if (stop.signal.aborted) return;
        isAttaching = false;
        const bytes = decoded(dataBase64);
        drawn ??= takeNew() ? 0 : position;
        const old = shownBefore(bytes.length, position, drawn);
        drawn = position;
        terminal.reset();
        isCopy = true;
        draw(bytes.subarray(0, old), () => {
          isCopy = false;
        });
        draw(bytes.subarray(old));
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
      then?.();
      if (waiting === 0 && isBehind && !isAttaching) attach();
    });
  }

  /** Attaches again, once all that waits is drawn. */
  function skip() {
    isBehind = true;
    if (waiting === 0 && !isAttaching) attach();
  }

  const type = sender(
    ({ bytes, answer }) =>
      client.request(
        "shell/write",
        { id, dataBase64: encoded(bytes), ...(answer && { answer }) },
        { signal: stop.signal, timeoutMs: 0 },
      ),
    (error) => {
      if (!(error instanceof DOMException)) complain(error);
    },
  );
  const text = new TextEncoder();
  const ends = [
    client.on("shell/output", (output) => {
      if (output.id !== id || isBehind || isAttaching) return;
      if (waiting > MOST_WAITING) return skip();
      const bytes = decoded(output.dataBase64);
      drawn = (drawn ?? 0) + bytes.length;
      draw(bytes);
    }),
    client.on("shell/skipped", (skipped) => skipped.id === id && skip()),
    client.on("shell/exited", (exited) => exited.id === id && onEnd(exited.code)),
  ];
  const listeners = [
    terminal.onData((data) => {
      const answer = isAnswer(data);
      if (!(isCopy && answer)) type(text.encode(data), answer);
    }),
    terminal.onBinary((data) => type(binary(data), false)),
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
