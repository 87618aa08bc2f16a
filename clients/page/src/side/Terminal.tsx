//! One command in the background. It has no terminal device: its output is text, and lines are typed into it.
import type { BackgroundTerminal } from "@bobbin/client";
import { type FormEvent, useLayoutEffect, useRef, useState } from "react";
import { useClient } from "../server/context";
import { Ansi } from "../text/Ansi";
import { complain } from "../ui/toast";

export function Terminal({ terminal }: { terminal: BackgroundTerminal }) {
  const client = useClient();
  const [input, setInput] = useState("");
  const out = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  const running = terminal.status === "running";
  const { sessionId } = terminal;

  useLayoutEffect(() => {
    if (out.current && atEnd.current) out.current.scrollTop = out.current.scrollHeight;
  }, [terminal.output]);

  function submit(event: FormEvent) {
    event.preventDefault();
    client.request("terminal/write", { sessionId, input: `${input}\n`, yieldTimeMs: 100 }).then(() => setInput(""), complain);
  }

  return (
    <section className="terminal" aria-label={terminal.command}>
      <header className="row">
        {running && <span className="ring" />}
        <code className="cut grow">{terminal.command}</code>
        <span className="meta num">{running ? "running" : terminal.exitCode === undefined ? terminal.status : `exit ${terminal.exitCode}`}</span>
        {running && (
          <button type="button" className="btn small" onClick={() => void client.request("terminal/stop", { sessionId }).catch(complain)}>
            End
          </button>
        )}
      </header>
      <pre
        ref={out}
        className="out"
        tabIndex={0}
        aria-label="Output"
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          atEnd.current = scrollHeight - scrollTop - clientHeight < 24;
        }}
      >
        {terminal.output ? <Ansi text={terminal.output} /> : <span className="meta">no output yet</span>}
      </pre>
      {running && (
        <form className="row" onSubmit={submit}>
          <input className="field mono" aria-label={`Type into ${terminal.command}`} placeholder="Type a line and press Enter" value={input} onChange={(event) => setInput(event.target.value)} autoComplete="off" spellCheck={false} />
        </form>
      )}
    </section>
  );
}
