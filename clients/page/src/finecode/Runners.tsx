//! The runners in use: their state, buttons that restart and stop them, and their output.
import type { FineCodeRunner } from "@bobbin/client";
import { useEffect, useState } from "react";
import { useClient, useStatus } from "../server/context";
import { useRequest } from "../server/useRequest";
import { complain } from "../ui/toast";

const states: Record<string, string> = {
  STOPPED: "does not run",
  INITIALIZING: "starts",
  RUNNING: "runs",
  NO_VENV: "its environment is not there",
  FAILED: "failed",
  EXITED: "has ended",
};

export function Runners() {
  const client = useClient();
  const isReady = useStatus().state === "ready";
  const { data, again } = useRequest("finecode/runner/list", {}, isReady);
  useEffect(() => client.on("finecode/runner/updated", again), [client, again]);
  if (!data || data.runners.length === 0) return null;
  return (
    <section aria-label="Runners">
      <h2>Runners</h2>
      <ul className="entries">
        {data.runners.map((runner) => (
          <Runner key={`${runner.projectPath} ${runner.env} ${runner.sandboxed ?? false}`} runner={runner} />
        ))}
      </ul>
    </section>
  );
}

function Runner({ runner: { projectPath, env, sandboxed, status, problem, logFile } }: { runner: FineCodeRunner }) {
  const client = useClient();
  const [shown, setShown] = useState(false);
  const which = { projectPath, env };
  return (
    <li className="entry fc-runner">
      <div className="grow">
        <strong>{env}</strong> <span className="meta">{projectPath.split("/").at(-1)}</span>{" "}
        {sandboxed && <span className="meta">for the agent, in the sandbox</span>}{" "}
        <span className={status === "FAILED" || status === "NO_VENV" ? "del" : "meta"}>{states[status] ?? status}</span>
        {problem && <pre className="out">{problem}</pre>}
        {shown && <Logs {...which} />}
        {shown && logFile && <p className="meta">{logFile}</p>}
      </div>
      <button type="button" className="btn small" aria-expanded={shown} onClick={() => setShown(!shown)}>
        Log
      </button>
      <button
        type="button"
        className="btn small"
        onClick={() => void client.request("finecode/runner/restart", which).catch(complain)}
      >
        Restart
      </button>
      {status === "RUNNING" && (
        <button
          type="button"
          className="btn small"
          onClick={() => void client.request("finecode/runner/stop", which).catch(complain)}
        >
          Stop
        </button>
      )}
    </li>
  );
}

function Logs(which: { projectPath: string; env: string }) {
  const { data, error } = useRequest("finecode/runner/logs", which);
  if (error) return <p className="note bad">{error}</p>;
  return <pre className="out">{data ? data.lines.join("\n") || "It has printed nothing." : "Loading…"}</pre>;
}
