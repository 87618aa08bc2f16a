//! One command in the background. It has no terminal device: its output is text, and its input is lines.
import type { BackgroundTerminal } from "@bobbin/client";
import { type FormEvent, useState } from "react";
import { links } from "../app/route";
import { useClient, useMay } from "../server/context";
import { Output } from "../text/Output";
import { complain } from "../ui/toast";

export function Terminal({ terminal, link }: { terminal: BackgroundTerminal; link: boolean }) {
  const client = useClient();
  const [mayEnd, mayType] = [useMay("approver"), useMay("owner")];
  const [input, setInput] = useState("");
  const running = terminal.status === "running";
  const { sessionId } = terminal;

  function submit(event: FormEvent) {
    event.preventDefault();
    client
      .request("terminal/write", { sessionId, input: `${input}\n`, yieldTimeMs: 100 })
      .then(() => setInput(""), complain);
  }

  return (
    <section className="terminal" aria-label={terminal.command}>
      <header className="row">
        {running && <span className="ring" />}
        <code className="cut grow" title={terminal.command}>
          {terminal.command}
        </code>
        {link && <a href={links.thread(terminal.threadId)}>Thread</a>}
        <span className="meta num">
          {running ? "running" : terminal.exitCode === undefined ? terminal.status : `exit ${terminal.exitCode}`}
        </span>
        {running && mayEnd && (
          <button
            type="button"
            className="btn small"
            onClick={() => void client.request("terminal/stop", { sessionId }).catch(complain)}
          >
            End
          </button>
        )}
      </header>
      <Output text={terminal.output} empty="no output yet" />
      {running && mayType && (
        <form className="row" onSubmit={submit}>
          <input
            className="field mono"
            aria-label={`Type into ${terminal.command}`}
            placeholder="Type a line and press Enter"
            value={input}
            onChange={(event) => setInput(event.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        </form>
      )}
    </section>
  );
}
