//! The settings and programs that a cloned folder brings, and whether they are trusted.
import { useState } from "react";
import { useClient, useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { marked, markedInLine } from "../text/marked";
import { complain, say } from "../ui/toast";
import { Whole } from "../ui/Whole";

export function Trust() {
  const client = useClient();
  const can = useServer()?.capabilities.workspaceTrust === true;
  const { data, error, again } = useRequest("workspace/trust/get", {}, can);
  const [unseen, setUnseen] = useState(1);
  if (!can) return <p className="empty">This server has no such methods.</p>;
  if (error) return <p className="note bad">{error}</p>;
  if (!data) return <p className="empty">Loading…</p>;

  function set(trusted: boolean) {
    const shown = data?.waiting.flatMap((item) => item.fingerprint ?? []) ?? [];
    // Without fingerprints, the trust would cover items that the folder has added since.
    client.request("workspace/trust/set", trusted ? { trusted, fingerprints: shown } : { trusted }).then((result) => {
      again();
      if (result.restartNeeded) say("Some settings take effect when the server restarts.");
    }, complain);
  }

  const items = [
    ...data.waiting.map((item) => ({ ...item, counts: false })),
    ...data.counted.map((item) => ({ ...item, counts: true })),
  ];
  return (
    <div className="stack-list">
      <p>
        {data.trusted
          ? "You trust this folder: its settings, servers and instructions apply."
          : "You do not trust this folder: its settings, servers and instructions are ignored."}
      </p>
      <Whole key={JSON.stringify(items)} label="What the folder brings" unseen={unseen} onUnseen={setUnseen}>
        <ul className="entries">
          {items.map((item) => (
            <li key={`${item.kind}${item.name}${item.fingerprint ?? ""}`} className="entry">
              <div className="grow">
                <strong>{markedInLine(item.name)}</strong> <span className="meta">{item.kind}</span>
                {item.detail && <pre className="out">{marked(item.detail)}</pre>}
              </div>
              <span className="meta">{item.counts ? "applies" : "ignored"}</span>
            </li>
          ))}
        </ul>
        {data.waiting.some(({ kind }) => kind === "text") && (
          <p className="note">Instructions are not shown here. Read their files before you trust them.</p>
        )}
      </Whole>
      {items.length === 0 && <p className="meta">The folder brings nothing that needs trust.</p>}
      <div className="row wrap">
        {(!data.trusted || data.waiting.length > 0) && (
          <button type="button" className="btn primary" disabled={unseen > 0} onClick={() => set(true)}>
            Trust what is shown
          </button>
        )}
        {data.trusted && (
          <button type="button" className="btn" onClick={() => set(false)}>
            Stop trusting
          </button>
        )}
      </div>
    </div>
  );
}
