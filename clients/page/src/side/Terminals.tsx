//! Commands in the background: their output, their input, and buttons that end them.
import type { BackgroundTerminal } from "@bobbin/client";
import { useEffect, useState } from "react";
import { useClient, useMay } from "../server/context";
import { useRequest } from "../server/useRequest";
import { complain } from "../ui/toast";
import { Terminal } from "./Terminal";

/** Most characters of output on the page. */
const MOST = 200_000;

export function Terminals({ threadId }: { threadId?: string }) {
  const client = useClient();
  const mayEnd = useMay("approver");
  const { data, error, again } = useRequest("terminal/list", threadId ? { threadId } : {});
  const [live, setLive] = useState<Record<string, BackgroundTerminal>>({});

  useEffect(() => {
    setLive(Object.fromEntries((data?.terminals ?? []).map((terminal) => [terminal.sessionId, terminal])));
  }, [data]);

  useEffect(() => {
    const ours = (terminal: BackgroundTerminal) => !threadId || terminal.threadId === threadId;
    // Deltas come by the hundred, and the page joins them until the next frame.
    let waiting: { terminal: BackgroundTerminal; delta: string }[] = [];
    let frame = 0;
    const flush = () => {
      frame = 0;
      const deltas = waiting;
      waiting = [];
      setLive((now) => {
        const next = { ...now };
        for (const { terminal, delta } of deltas) {
          const output = ((next[terminal.sessionId]?.output ?? "") + delta).slice(-MOST);
          next[terminal.sessionId] = { ...(next[terminal.sessionId] ?? terminal), status: terminal.status, output };
        }
        return next;
      });
    };
    const put = ({ terminal }: { terminal: BackgroundTerminal }) => {
      if (!ours(terminal)) return;
      setLive((now) => ({
        ...now,
        [terminal.sessionId]: { ...terminal, output: terminal.output || now[terminal.sessionId]?.output || "" },
      }));
    };
    const ends = [
      client.on("terminal/started", put),
      client.on("terminal/completed", put),
      client.on("terminal/outputDelta", (params) => {
        if (!ours(params.terminal)) return;
        waiting.push(params);
        frame ||= requestAnimationFrame(flush);
      }),
      client.on("terminal/cleaned", ({ terminal }) => setLive(({ [terminal.sessionId]: _gone, ...rest }) => rest)),
    ];
    return () => {
      cancelAnimationFrame(frame);
      for (const end of ends) end();
    };
  }, [client, threadId]);

  if (error) return <p className="note bad">{error}</p>;
  const terminals = Object.values(live).sort((one, other) => other.startedAt.localeCompare(one.startedAt));
  const over = terminals.filter((terminal) => terminal.status !== "running");
  return (
    <>
      {terminals.length === 0 && <p className="empty">{data ? "Nothing goes on in the background." : "Loading…"}</p>}
      {terminals.map((terminal) => (
        <Terminal key={terminal.sessionId} terminal={terminal} link={!threadId} />
      ))}
      {mayEnd && threadId && over.length > 0 && (
        <button
          type="button"
          className="btn plain"
          onClick={() => void client.request("terminal/clean", { threadId }).then(again, complain)}
        >
          Remove all of this Thread
        </button>
      )}
    </>
  );
}
