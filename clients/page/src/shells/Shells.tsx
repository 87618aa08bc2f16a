//! Terminals of the user: a tab for each shell, in the folder of the workspace or of one Thread.
import type { ShellInfo } from "@bobbin/client";
import { useEffect, useRef, useState } from "react";
import { useRemembered } from "../app/remember";
import { links } from "../app/route";
import { useClient, useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { markedInLine } from "../text/marked";
import { Icon } from "../ui/Icon";
import { complain } from "../ui/toast";
import { ShellScreen } from "./ShellScreen";
import "./shells.css";

/** A shell that has ended, with its exit code where it is known. */
type Ended = Record<string, { code?: number }>;

export default function Shells({ thread }: { thread?: string }) {
  const client = useClient();
  const { data, error, again } = useRequest("shell/list", {}, true, useServer());
  const [shells, setShells] = useState<ShellInfo[]>();
  const [ended, setEnded] = useState<Ended>({});
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [chosen, choose] = useRemembered("shell", "");
  const tabs = useRef<HTMLDivElement>(null);
  /** Shells that this page has opened and not shown yet. */
  const opened = useRef(new Set<string>());

  useEffect(() => {
    if (!data) return;
    const here = data.shells.filter(({ threadId }) => threadId === thread);
    // One that has ended stays until the user closes it.
    setShells((now = []) => [...now.filter(({ id }) => !here.some((shell) => shell.id === id)), ...here]);
    setEnded((now) => {
      const gone = (shell: ShellInfo) => !here.some(({ id }) => id === shell.id);
      return Object.fromEntries(Object.entries(now).filter(([id]) => gone({ id } as ShellInfo)));
    });
  }, [data, thread]);

  const current = shells?.find(({ id }) => id === chosen) ?? shells?.[0];
  const end = current && ended[current.id];

  async function open() {
    setBusy(true);
    try {
      const asked = { columns: 80, rows: 24, ...(thread && { threadId: thread }) };
      const { shell } = await client.request("shell/open", asked);
      opened.current.add(shell.id);
      setShells((now = []) => [...now, shell]);
      choose(shell.id);
      setFailure(undefined);
    } catch (error) {
      complain(error);
    }
    setBusy(false);
  }

  async function close(shell: ShellInfo) {
    try {
      if (!ended[shell.id]) await client.request("shell/close", { id: shell.id });
    } catch {
      // It has ended meanwhile.
    }
    setShells((now = []) => now.filter(({ id }) => id !== shell.id));
    again();
  }

  const why = error ?? failure;
  return (
    <main className="page shells">
      <header className="bar">
        <a
          className="btn plain icon only-narrow"
          href={thread ? links.thread(thread) : links.home}
          aria-label={thread ? "Back to the Thread" : "Back to the Threads"}
        >
          <Icon name="back" />
        </a>
        <h1 className="cut">Terminal</h1>
        <div className="tabs grow" role="group" aria-label="Terminals" ref={tabs}>
          {shells?.map((shell, at) => (
            <button
              key={shell.id}
              type="button"
              aria-pressed={shell === current}
              title={shell.cwd}
              onClick={() => choose(shell.id)}
            >
              {markedInLine(shell.program)} {at + 1}
              {ended[shell.id] && " (ended)"}
            </button>
          ))}
        </div>
        {current && (
          <button type="button" className="btn small" onClick={() => void close(current)}>
            Close
          </button>
        )}
        <button
          type="button"
          className="btn small"
          disabled={isBusy || error !== undefined}
          onClick={() => void open()}
        >
          New terminal
        </button>
      </header>
      {why && <p className="note bad">{why}</p>}
      {shells?.length === 0 && !why && (
        <p className="empty">
          A terminal runs your shell with your rights, outside of the sandbox. The agent neither sees it nor types into
          it.
        </p>
      )}
      {current && end && (
        <p className="note">
          This shell has ended{end.code !== undefined && ` with exit code ${end.code}`}. What it started has ended with
          it.
        </p>
      )}
      {current && (
        <>
          <ShellScreen
            key={current.id}
            id={current.id}
            label={`Terminal: ${current.program}`}
            takeNew={() => opened.current.delete(current.id)}
            onEnd={(code) => setEnded((now) => ({ ...now, [current.id]: { ...(code !== undefined && { code }) } }))}
            onError={setFailure}
            onLeave={() => tabs.current?.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus()}
          />
          <p className="meta shells-keys">
            All keys go to the terminal. <kbd>Shift+F6</kbd> leaves it, <kbd>Ctrl+Shift+C</kbd> copies,{" "}
            <kbd>Ctrl+Shift+V</kbd> pastes.
          </p>
        </>
      )}
    </main>
  );
}
