//! Extensions: their state, their logs, and buttons that start and end them.
import type { HermesExtension, HermesExtensionState } from "@bobbin/client";
import { useState } from "react";
import { useClient } from "../server/context";
import { useRequest } from "../server/useRequest";
import { fullTime } from "../ui/format";
import { complain } from "../ui/toast";
import { useExtensions } from "./useList";

const states: Record<HermesExtensionState, string> = {
  starting: "starts",
  initializing: "starts",
  running: "runs",
  shuttingDown: "ends",
  stopped: "does not run",
  failed: "failed",
};

export function Extensions() {
  const client = useClient();
  const extensions = useExtensions();
  if (extensions.length === 0) return null;
  return (
    <section className="stack-list" aria-label="Extensions">
      <div className="row">
        <h2 className="grow">Extensions</h2>
        <button
          type="button"
          className="btn small"
          onClick={() => void client.request("hermes/extension/reload", {}).catch(complain)}
        >
          Start all again
        </button>
      </div>
      <ul className="entries">
        {extensions.map((extension) => (
          <Extension key={extension.id} extension={extension} />
        ))}
      </ul>
    </section>
  );
}

function Extension({ extension: { id, name, version, state, enabled, error, path } }: { extension: HermesExtension }) {
  const client = useClient();
  const [shown, setShown] = useState(false);
  const set = (on: boolean) => void client.request("hermes/extension/setEnabled", { id, enabled: on }).catch(complain);
  return (
    <li className="entry hl7-extension">
      <div className="grow">
        <strong>{name}</strong> <span className="meta">{version !== "0.0.0" && version}</span>{" "}
        <span className={state === "failed" ? "del" : "meta"}>{states[state]}</span>
        <p className="meta cut">
          <code>{path}</code>
        </p>
        {error && <p className="del">{error}</p>}
        {shown && <Logs id={id} />}
      </div>
      <button type="button" className="btn small" aria-expanded={shown} onClick={() => setShown(!shown)}>
        Log
      </button>
      {state === "failed" && enabled && (
        <button type="button" className="btn small" onClick={() => set(true)}>
          Start again
        </button>
      )}
      <button type="button" className="btn small" onClick={() => set(!enabled)}>
        {enabled ? "Switch off" : "Switch on"}
      </button>
    </li>
  );
}

function Logs({ id }: { id: string }) {
  const { data, error, again } = useRequest("hermes/extension/logs", { id, limit: 200 });
  if (error) return <p className="note bad">{error}</p>;
  return (
    <div className="terminal">
      <pre className="out">
        {data?.entries
          .map(({ timestamp, level, message }) => `${fullTime(timestamp)} ${level} ${message}`)
          .join("\n") || "Nothing yet."}
      </pre>
      <div>
        <button type="button" className="btn small" onClick={again}>
          Read again
        </button>
      </div>
    </div>
  );
}
