//! One run: its progress, and its findings, changes or text.
import type { FineCodeRunResult } from "@bobbin/client";
import { useMemo, useState } from "react";
import { useClient } from "../server/context";
import { DiffTable } from "../side/DiffTable";
import { plural, shortTime } from "../ui/format";
import { complain } from "../ui/toast";
import { changes, type Finding, findings } from "./results";
import { cancel, type Run } from "./runs";

/** Findings and files before the user asks for more. */
const MOST = 200;
const words: Record<string, string> = {
  no_handlers: "has no handlers",
  cancelled: "cancelled",
  failed: "failed",
  stopped: "stopped early",
};

export function RunView({ run }: { run: Run }) {
  const client = useClient();
  return (
    <section className="file fc-run" aria-label={`Run of ${run.action}`}>
      <div className="fc-head">
        {run.state === "running" && <span className="ring" />}
        <strong>{run.action}</strong>
        <span className="meta grow cut">
          {run.state === "running"
            ? [run.title, run.step].filter(Boolean).join(": ") || "starts"
            : run.state === "done"
              ? verdict(run.results ?? [])
              : run.state}
        </span>
        <span className="meta num">{shortTime(new Date(run.startedAt).toISOString())}</span>
        {run.state === "running" && (
          <button type="button" className="btn small" onClick={() => void cancel(client, run).catch(complain)}>
            Cancel
          </button>
        )}
      </div>
      {run.state === "running" && (
        <progress aria-label={`Progress of ${run.action}`} max={100} value={run.percentage} />
      )}
      {run.error && <p className="note bad">{run.error}</p>}
      {run.results?.map((result) => (
        <Result key={result.projectPath} result={result} alone={run.results?.length === 1} />
      ))}
    </section>
  );
}

function verdict(results: readonly FineCodeRunResult[]): string {
  const failed = results.filter(({ status }) => status === "failed").length;
  const unclean = results.filter(({ returnCode, status }) => status !== "failed" && (returnCode ?? 0) !== 0).length;
  if (failed) return `${plural(failed, "project")} could not run it`;
  return unclean ? (results.length > 1 ? `not clean in ${plural(unclean, "project")}` : "not clean") : "clean";
}

function Result({
  result: { projectPath, status, error, result, returnCode, text, diff },
  alone,
}: {
  result: FineCodeRunResult;
  alone: boolean;
}) {
  const found = useMemo(() => findings(result, projectPath), [result, projectPath]);
  const files = useMemo(() => changes(result, text ?? undefined, diff ?? undefined), [result, text, diff]);
  const said = files.length > 0 || (found?.length ?? 0) > 0 ? "" : (text ?? "").trim();
  return (
    <div className="fc-result">
      {(!alone || words[status] !== undefined || (returnCode ?? 0) !== 0) && (
        <p className="meta">
          {!alone && <code>{projectPath.split("/").at(-1)}</code>} {words[status]}{" "}
          {returnCode != null && returnCode !== 0 && `return code ${returnCode}`}
        </p>
      )}
      {error && <p className="note bad">{error}</p>}
      {found && found.length > 0 && <Findings found={found} />}
      {files.map((file) => (
        <details key={file.path} open className="file">
          <summary>
            <code className="cut grow">{file.path}</code>
            <span className="num meta">
              <span className="add">+{file.additions}</span> <span className="del">−{file.deletions}</span>
            </span>
          </summary>
          <DiffTable file={file} split={false} />
        </details>
      ))}
      {said && <pre className="out">{said}</pre>}
      {result !== undefined && result !== null && (
        <details>
          <summary className="meta">The result as JSON</summary>
          <pre className="out">{JSON.stringify(result, null, 2).slice(0, 100_000)}</pre>
        </details>
      )}
    </div>
  );
}

function Findings({ found }: { found: readonly Finding[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? found : found.slice(0, MOST);
  return (
    <>
      <ul className="fc-findings" aria-label="Findings">
        {shown.map((finding, index) => (
          <li key={index}>
            <code className="fc-place">
              {finding.file}:{finding.line}:{finding.column}
            </code>
            <span>
              {finding.code && <code className="fc-code">{finding.code}</code>} {finding.text}{" "}
              {finding.source && <span className="meta">{finding.source}</span>}
            </span>
          </li>
        ))}
      </ul>
      {shown.length < found.length && (
        <button type="button" className="btn small" onClick={() => setAll(true)}>
          Show all {found.length.toLocaleString()} findings
        </button>
      )}
    </>
  );
}
