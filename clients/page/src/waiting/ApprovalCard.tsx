//! A request for approval: what would happen, what confines it, and each answer with what it covers. Nothing is allowed before all
//! of it was on the screen.
import type { Approval, ApprovalDecision } from "@bobbin/client";
import { useId, useState } from "react";
import { marked, markedInLine } from "../text/marked";
import { Whole } from "../ui/Whole";
import { Explain } from "./Explain";
import { hasProposed, Proposed } from "./Proposed";

const all: ApprovalDecision[] = ["accept", "acceptForSession", "acceptAlways", "decline", "cancel"];

const answers: Record<ApprovalDecision, { label: string; title: string }> = {
  accept: { label: "Allow once", title: "Only this request" },
  acceptForSession: { label: "Allow in this Thread", title: "Also later requests of the same scope in this Thread" },
  acceptAlways: { label: "Always allow", title: "Exactly this, in every Thread of this workspace" },
  decline: { label: "Decline", title: "The agent reads that you refused, and goes on" },
  cancel: { label: "Decline and stop", title: "Refuses, and stops the Turn" },
};

/** Longest scope that is shown; a command that is longer was just read. */
const MOST = 120;

function covers({ approvalType, scopeKey }: Approval["params"]) {
  return scopeKey.length > MOST ? `this very ${approvalType === "shell" ? "command" : "request"}` : <code>{markedInLine(scopeKey)}</code>;
}

const asked = { shell: "Run a command?", file: "", remoteResource: "Use something beyond this machine?" };

export function ApprovalCard({ approval }: { approval: Approval }) {
  const { params } = approval;
  const heading = useId();
  const [explained, setExplained] = useState(false);
  const [unseen, setUnseen] = useState(1);
  const offered = all.filter((decision) => params.availableDecisions?.includes(decision) ?? true);
  const isCommand = params.approvalType === "shell";
  const title = asked[params.approvalType] || markedInLine(`${params.operation[0]?.toUpperCase()}${params.operation.slice(1)} a file?`);
  return (
    <section className="ask" tabIndex={-1} aria-labelledby={heading}>
      <h2 id={heading}>{title}</h2>
      <Whole label={isCommand ? "Command" : "Target"} unseen={unseen} onUnseen={setUnseen}>
        <pre className="ask-what">{marked(isCommand ? params.operation : params.approvalType === "file" ? params.target : `${params.operation}\n${params.target}`)}</pre>
        {isCommand && <p className="meta">in {markedInLine(params.target)}</p>}
        {hasProposed(params) && <Proposed approval={params} />}
        {params.reason && <p className="ask-why">{marked(params.reason)}</p>}
      </Whole>
      <div className="row wrap">
        {offered.map((decision) => (
          <button
            key={decision}
            type="button"
            disabled={unseen > 0 && decision.startsWith("accept")}
            className={decision === "accept" ? "btn primary" : decision === "decline" ? "btn" : "btn plain"}
            title={decision === "acceptForSession" ? `${answers[decision].title}: ${markedInLine(params.scopeKey)}` : answers[decision].title}
            onClick={() => approval.answer(decision)}
          >
            {answers[decision].label}
          </button>
        ))}
      </div>
      {offered.includes("acceptForSession") && (
        <p className="meta">
          “In this Thread” covers {covers(params)}
          {offered.includes("acceptAlways") && ". “Always” covers exactly this, in every Thread of the workspace."}
        </p>
      )}
      {isCommand && (
        <details onToggle={(event) => setExplained(event.currentTarget.open)}>
          <summary>Why am I asked?</summary>
          {explained && <Explain command={params.operation} threadId={params.threadId} />}
        </details>
      )}
    </section>
  );
}
