//! Shows where a pull request goes and its text before it is sent.
import type { GitPullRequestPlan } from "@bobbin/client";
import { type FormEvent, useState } from "react";
import { useClient } from "../server/context";
import { useRequest } from "../server/useRequest";
import { markedInLine } from "../text/marked";
import { Dialog } from "../ui/Dialog";
import { message } from "../ui/toast";

interface Props {
  thread?: string;
  onClose: () => void;
}

export function PullRequestDialog({ thread, onClose }: Props) {
  const { data: plan, error } = useRequest("git/pullRequest/plan", thread ? { threadId: thread } : {});
  return (
    <Dialog title="Pull request" wide onClose={onClose}>
      {error && <p className="note bad">{error}</p>}
      {!plan && !error && <p className="meta">Loading…</p>}
      {plan && <Proposal plan={plan} thread={thread} onClose={onClose} />}
    </Dialog>
  );
}

function Proposal({ plan, thread, onClose }: Props & { plan: GitPullRequestPlan }) {
  const client = useClient();
  const [title, setTitle] = useState(plan.title);
  const [body, setBody] = useState(plan.body);
  const [base, setBase] = useState(plan.base ?? "");
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string>();
  const [sent, setSent] = useState<{ url?: string; output: string }>();
  const { remote, repository, branch, tool, pushed } = plan;
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setRefused(undefined);
    try {
      const seen = { remote, repository, branch, base: base.trim(), title: title.trim(), body };
      setSent(
        await client.request("git/pullRequest", { ...(thread && { threadId: thread }), ...seen }, { timeoutMs: 0 }),
      );
    } catch (error) {
      setRefused(message(error));
    }
    setBusy(false);
  };
  if (sent)
    return (
      <div className="stack-list">
        {sent.url?.startsWith("https://") ? (
          <p>
            Sent:{" "}
            <a href={sent.url} target="_blank" rel="noreferrer">
              {sent.url}
            </a>
          </p>
        ) : (
          <pre className="note">{sent.output}</pre>
        )}
        <div className="row">
          <span className="grow" />
          <button type="button" className="btn primary" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    );
  return (
    <form className="sheet-form" onSubmit={(event) => void send(event)}>
      <p>
        To <code>{markedInLine(repository)}</code>, from the branch <code>{markedInLine(branch)}</code>
      </p>
      {!pushed && <p className="note bad">The remote does not have the newest commit of the branch. Push it first.</p>}
      <label className="stack">
        Into the branch
        <input className="field mono" required value={base} onChange={(event) => setBase(event.target.value)} />
      </label>
      <label className="stack">
        Title
        <input className="field" required value={title} onChange={(event) => setTitle(event.target.value)} />
      </label>
      <label className="stack">
        Text
        <textarea className="field" rows={8} value={body} onChange={(event) => setBody(event.target.value)} />
      </label>
      <p className="meta">
        <code>{tool}</code> sends it outside of the sandbox, as the user who is signed in there.
      </p>
      {refused && <pre className="note bad">{refused}</pre>}
      <div className="row">
        <span className="grow" />
        <button type="button" className="btn" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="btn primary" disabled={busy || !pushed}>
          {busy ? "Sending…" : "Send"}
        </button>
      </div>
    </form>
  );
}
