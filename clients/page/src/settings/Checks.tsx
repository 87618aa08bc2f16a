//! Problems that the server finds on its machine, with their remedies.
import type { DoctorFinding } from "@bobbin/client";
import { Fragment, useState } from "react";
import { useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { CopyButton } from "../text/CodeBlock";

const levels: [DoctorFinding["level"], string][] = [
  ["error", "Problems"],
  ["warning", "Notes"],
  ["ok", "Passed"],
];

export function Checks() {
  const can = useServer()?.capabilities.extensions?.doctor === true;
  const { data, error, again } = useRequest("doctor/run", {}, can);
  const [before, setBefore] = useState<typeof data>();
  const busy = !error && data === before;
  if (!can) return <p className="empty">This server makes no checks.</p>;
  return (
    <div className="stack-list">
      <div className="row wrap">
        <button
          type="button"
          className="btn"
          disabled={busy}
          onClick={() => {
            setBefore(data);
            again();
          }}
        >
          {busy ? "Checking…" : "Check again"}
        </button>
        <span className="meta" role="status">
          {!busy && data && summary(data.findings)}
        </span>
      </div>
      {error && <p className="note bad">{error}</p>}
      {levels.map(([level, title]) => {
        const findings = data?.findings.filter((finding) => finding.level === level) ?? [];
        if (findings.length === 0) return null;
        return (
          <section key={level} aria-label={title}>
            <h3 className={level === "error" ? "del" : undefined}>{title}</h3>
            <ul className="entries">
              {findings.map((finding) => (
                <li key={finding.subject + finding.message} className="entry">
                  <div className="grow">
                    <strong>{finding.subject}</strong>
                    <p className="meta">
                      <Marked text={finding.message} />
                    </p>
                    {finding.mend && <Mend text={finding.mend} />}
                  </div>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
      <p className="meta">
        Some settings of the files take effect when the server restarts. <code>bobbin doctor</code> prints the same.
      </p>
    </div>
  );
}

function summary(findings: DoctorFinding[]): string {
  const errors = findings.filter(({ level }) => level === "error").length;
  return errors === 0 ? "All checks passed." : errors === 1 ? "1 problem found." : `${errors} problems found.`;
}

/** A finding's remedy. The user can copy its commands, or all of it if it names none. */
function Mend({ text }: { text: string }) {
  return (
    <p>
      <Marked text={text} />
      {!text.includes("`") && <CopyButton text={text} label={`Copy: ${text}`} />}
    </p>
  );
}

/** A text whose parts between backquotes are code with a button that copies it. */
function Marked({ text }: { text: string }) {
  return text.split("`").map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      <Fragment key={at}>
        <code>{part}</code>
        <CopyButton text={part} label={`Copy: ${part}`} />
      </Fragment>
    ),
  );
}
