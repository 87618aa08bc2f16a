//! An approval request: the operation, its sandbox, and each answer with its scope. No button allows anything before
//! all of it was on the screen.
import type { Approval, ApprovalDecision } from "@bobbin/client";
import { type KeyboardEvent, useId, useRef, useState } from "react";
import { useClient, useMay, useServer } from "../server/context";
import { marked, markedInLine } from "../text/marked";
import { complain, say } from "../ui/toast";
import { Whole } from "../ui/Whole";
import { Explain } from "./Explain";
import { hasProposed, Proposed } from "./Proposed";

const all: ApprovalDecision[] = ["accept", "acceptForSession", "acceptAlways", "decline", "cancel"];

/** `bobbin chat` has the same keys. What counts for ever has none. */
const answers: Record<ApprovalDecision, { label: string; key?: string; title: string }> = {
  accept: { label: "Allow once", key: "y", title: "Only this request" },
  acceptForSession: { label: "Allow in this Thread", key: "s", title: "For the rest of this Thread" },
  acceptAlways: { label: "Always allow", title: "This exact request, in every Thread of this workspace" },
  decline: { label: "Decline", key: "n", title: "The agent learns that you declined, and continues" },
  cancel: { label: "Decline and stop", key: "c", title: "Declines, and stops the Turn" },
};

/** Milliseconds with the focus after which keys answer. */
const SETTLED = 500;

/** Longest scope on a button. The card has just shown a longer command. */
const MOST = 120;

/** Returns the scope of an answer for the Thread. */
function allowed({ approvalType, operation, target, scopeKey }: Approval["params"]) {
  if (scopeKey.length > MOST) return `this ${approvalType === "shell" ? "command" : "request"}`;
  if (approvalType !== "shell") return <code>{markedInLine(`${operation} ${target}`)}</code>;
  const command = scopeKey.replace(/^shell:/, "");
  return <code>{markedInLine(command === operation ? command : `${command} …`)}</code>;
}

const asked = { shell: "Run this command?", file: "", remoteResource: "Allow this request?" };

export function ApprovalCard({ approval }: { approval: Approval }) {
  const { params } = approval;
  const heading = useId();
  const [explained, setExplained] = useState(false);
  const [unseen, setUnseen] = useState(1);
  const offered = all.filter((decision) => params.availableDecisions?.includes(decision) ?? true);
  const isCommand = params.approvalType === "shell";
  const isJob = params.target === "Cron";
  const title =
    (isJob ? "Schedule this job?" : asked[params.approvalType]) ||
    markedInLine(`${params.operation[0]?.toUpperCase()}${params.operation.slice(1)} this file?`);
  const mayAnswer = (decision: ApprovalDecision) => unseen === 0 || !decision.startsWith("accept");
  // A key that answered the question before, or that is typed on, answers nothing here.
  const focused = useRef(0);
  function byKey(event: KeyboardEvent<HTMLElement>) {
    if (event.repeat || event.timeStamp - focused.current < SETTLED) return;
    if (event.ctrlKey || event.altKey || event.metaKey || (event.target as HTMLElement).matches("input, textarea"))
      return;
    const decision = offered.find((one) => answers[one].key === event.key);
    if (!decision || !mayAnswer(decision)) return;
    event.preventDefault();
    approval.answer(decision);
  }
  return (
    <section
      className="ask"
      tabIndex={-1}
      aria-labelledby={heading}
      onFocus={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) focused.current = event.timeStamp;
      }}
      onKeyDown={byKey}
    >
      <h2 id={heading}>{title}</h2>
      <Whole label={isCommand ? "Command" : "Target"} unseen={unseen} onUnseen={setUnseen}>
        <pre className="ask-what">
          {marked(
            isCommand
              ? params.operation
              : params.approvalType === "file"
                ? params.target
                : `${params.operation}\n${params.target}`,
          )}
        </pre>
        {isCommand && <p className="meta">in {markedInLine(params.target)}</p>}
        {hasProposed(params) && <Proposed approval={params} />}
        {params.reason && <p className="ask-why">{marked(params.reason)}</p>}
      </Whole>
      <div className="row wrap">
        {offered.map((decision) => (
          <button
            key={decision}
            type="button"
            disabled={!mayAnswer(decision)}
            className={decision === "accept" ? "btn primary" : decision === "decline" ? "btn" : "btn plain"}
            title={answers[decision].title}
            aria-keyshortcuts={answers[decision].key}
            data-key={answers[decision].key}
            onClick={() => approval.answer(decision)}
          >
            {answers[decision].label}
          </button>
        ))}
      </div>
      {offered.includes("acceptForSession") && (
        <p className="meta">
          Allows {allowed(params)} for the rest of this Thread.
          {offered.includes("acceptAlways") &&
            (params.alwaysScopeKey
              ? " In the sandbox; “Always allow” is for the same, in every Thread of the workspace."
              : " “Always allow” is for this exact request, in every Thread of the workspace.")}
        </p>
      )}
      {params.confined && <AskLess disabled={unseen > 0} onStored={() => approval.answer("accept")} />}
      {isCommand && (
        <details onToggle={(event) => setExplained(event.currentTarget.open)}>
          <summary>Why am I asked?</summary>
          {explained && <Explain command={params.operation} threadId={params.threadId} />}
        </details>
      )}
    </section>
  );
}

/** Offers a policy under which confined commands run without a question. */
function AskLess({ disabled, onStored }: { disabled: boolean; onStored: () => void }) {
  const client = useClient();
  const mayChange = useMay("owner");
  const can = useServer()?.capabilities.workspaceConfigManagement === true && mayChange;
  const store = () =>
    client.request("workspace/config/update", { defaultApprovalPolicy: "sandboxed" }).then(() => {
      say("Commands in the sandbox run without asking. Settings › Workspace changes that.");
      onStored();
    }, complain);
  if (!can) return null;
  return (
    <button
      type="button"
      className="btn plain"
      disabled={disabled}
      title="Allows this, and what the sandbox confines from now on. Bobbin still asks about what leaves the sandbox."
      onClick={store}
    >
      Ask less: run everything the sandbox confines
    </button>
  );
}
