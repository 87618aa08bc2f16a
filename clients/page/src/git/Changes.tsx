//! What has changed in the repository, and the commit of it.
import type { GitFile, GitStatusResult } from "@bobbin/client";
import { type FormEvent, useEffect, useMemo, useState } from "react";
import { useRemembered } from "../app/remember";
import { go, links } from "../app/route";
import { addToDraft } from "../compose/useDraft";
import { useClient } from "../server/context";
import { useThreadList } from "../server/threads";
import { useRequest } from "../server/useRequest";
import { type Comments, Commenting, prompt, useComments } from "../side/comments";
import { type FileDiff, parsed } from "../side/diff";
import { DiffTable } from "../side/DiffTable";
import { markedLines } from "../side/markedLines";
import { Layout } from "../side/Layout";
import { markedInLine } from "../text/marked";
import { Icon } from "../ui/Icon";
import { message, say } from "../ui/toast";
import { repositoryChanged, useGitStatus } from "./status";
import "./git.css";

/** Files whose changes are open at first. */
const OPEN = 20;

const words: Record<GitFile["state"], string> = {
  added: "added",
  modified: "",
  deleted: "deleted",
  untracked: "new",
  conflicted: "conflict",
};

export default function Changes() {
  const { status, error } = useGitStatus();
  const comments = useComments("repository");
  return (
    <main className="page">
      <header className="bar">
        <a className="btn plain icon only-narrow" href={links.home} aria-label="Back to the Threads">
          <Icon name="back" />
        </a>
        <h1 className="cut grow">
          {(status?.branch && markedInLine(status.branch)) ??
            (status?.head ? `at ${status.head.slice(0, 9)}` : "Changes")}
        </h1>
        {status && <Upstream status={status} />}
      </header>
      <div className="page-body changes">
        {error && <p className="note bad">{error}</p>}
        {status?.problem && <p className="empty">There is no repository here: {status.problem}</p>}
        {status?.repository && <Compared status={status} comments={comments} />}
      </div>
      <Review comments={comments} />
    </main>
  );
}

function Upstream({ status: { upstream, ahead, behind } }: { status: GitStatusResult }) {
  if (!upstream) return null;
  return (
    <span className="meta cut">
      {markedInLine(upstream)}
      {ahead > 0 && ` · ${ahead} ahead`}
      {behind > 0 && ` · ${behind} behind`}
    </span>
  );
}

function Compared({ status, comments }: { status: GitStatusResult; comments: Comments }) {
  const [base, setBase] = useState("");
  const [view, setView] = useRemembered("diff", "inline");
  const { data: all } = useRequest("git/branches", {});
  const diff = useRequest("git/diff", base ? { base } : {});
  const { again } = diff;
  // A file can change without the list of changed files: each reading of the state compares anew.
  useEffect(again, [again, status]);
  const files = useMemo(() => parsed(diff.data?.diff ?? "").map(markedLines), [diff.data]);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const known = new Map(status.files.map((file) => [file.path, file]));
  const unseen = status.files.filter(({ path }) => !files.some((file) => file.path === path));
  const chosen = status.files.map(({ path }) => path).filter((path) => !left.has(path));
  const others = all?.branches.filter(({ current }) => !current) ?? [];
  const leave = (path: string, out: boolean) =>
    setLeft((now) => {
      const next = new Set(now);
      if (out) next.add(path);
      else next.delete(path);
      return next;
    });
  return (
    <>
      {!base && status.files.length > 0 && <Commit paths={chosen} of={status.files.length} />}
      <div className="row wrap">
        <label className="row">
          <span className="meta">Compared with</span>
          <select className="pick boxed" value={base} onChange={(event) => setBase(event.target.value)}>
            <option value="">the last commit</option>
            {others.map(({ name, label }) => (
              <option key={name} value={name}>
                {markedInLine(label)}
              </option>
            ))}
          </select>
        </label>
        <span className="grow" />
        <Layout view={view} onView={setView} />
      </div>
      {diff.error && <p className="note bad">{diff.error}</p>}
      {diff.data && files.length === 0 && unseen.length === 0 && <p className="empty">Nothing has changed.</p>}
      {files.map((file, index) => (
        <Commenting key={file.path} file={file} comments={comments}>
          <details open={index < OPEN} className="file">
            <summary>
              {!base && <Choice path={file.path} left={left.has(file.path)} onLeave={leave} />}
              <Name file={file} state={known.get(file.path)?.state} />
            </summary>
            <DiffTable file={file} split={view === "side by side"} />
          </details>
        </Commenting>
      ))}
      {!base &&
        unseen.map((file) => (
          <p key={file.path} className="row">
            <Choice path={file.path} left={left.has(file.path)} onLeave={leave} />
            <code className="cut">{markedInLine(file.path)}</code>
            <span className="meta">{words[file.state] || "changed"}; its lines are not shown</span>
          </p>
        ))}
      {(diff.data?.truncated || status.truncated) && <p className="note">There is more than what is shown.</p>}
    </>
  );
}

function Choice({
  path,
  left,
  onLeave,
}: {
  path: string;
  left: boolean;
  onLeave: (path: string, out: boolean) => void;
}) {
  return (
    <input
      type="checkbox"
      checked={!left}
      aria-label={`Commit ${path}`}
      onChange={(event) => onLeave(path, !event.target.checked)}
    />
  );
}

function Name({ file, state }: { file: FileDiff; state?: GitFile["state"] }) {
  return (
    <>
      <a className="cut grow" href={links.file(file.path)}>
        <code>{markedInLine(file.path)}</code>
      </a>
      {state && words[state] && <span className="meta">{words[state]}</span>}
      <span className="num meta">
        <span className="add">+{file.additions}</span> <span className="del">−{file.deletions}</span>
      </span>
    </>
  );
}

function Commit({ paths, of }: { paths: string[]; of: number }) {
  const client = useClient();
  const [text, setText] = useRemembered("commit", "");
  const [busy, setBusy] = useState<"draft" | "commit">();
  const [error, setError] = useState<string>();
  // A suggestion is made with the model of a Thread.
  const thread = useThreadList().threads[0];

  const during = (what: "draft" | "commit", work: () => Promise<void>) => {
    setBusy(what);
    setError(undefined);
    work()
      .catch((error: unknown) => setError(message(error)))
      .finally(() => setBusy(undefined));
  };
  const draft = (threadId: string) =>
    during("draft", async () => {
      setText((await client.request("workspace/commitMessage/suggest", { threadId, paths })).message);
    });
  const commit = (event: FormEvent) => {
    event.preventDefault();
    during("commit", async () => {
      const { commit } = await client.request("git/commit", { message: text.trim(), paths });
      setText("");
      say(`Committed ${commit.slice(0, 9)}`);
      repositoryChanged();
    });
  };
  return (
    <form className="commit" onSubmit={commit}>
      <textarea
        className="field"
        rows={text.includes("\n") ? 6 : 2}
        aria-label="Message of the commit"
        placeholder="Message of the commit"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {error && <pre className="note bad">{error}</pre>}
      <div className="row">
        <span className="meta grow">
          {paths.length} of {of} {of === 1 ? "file" : "files"}
        </span>
        {thread && (
          <button
            type="button"
            className="btn"
            disabled={busy !== undefined || paths.length === 0}
            onClick={() => draft(thread.id)}
          >
            {busy === "draft" ? "Drafting…" : "Draft"}
          </button>
        )}
        <button
          type="submit"
          className="btn primary"
          disabled={busy !== undefined || paths.length === 0 || !text.trim()}
        >
          {busy === "commit" ? "Committing…" : "Commit"}
        </button>
      </div>
    </form>
  );
}

/** What the user has written about lines, on its way to the agent. */
function Review({ comments }: { comments: Comments }) {
  if (comments.all.length === 0) return null;
  return (
    <div className="bar review">
      <span className="grow">
        {comments.all.length} {comments.all.length === 1 ? "comment" : "comments"}
      </span>
      <button type="button" className="btn" onClick={comments.clear}>
        Discard
      </button>
      <button
        type="button"
        className="btn primary"
        onClick={() => {
          addToDraft("new", prompt(comments.all));
          comments.clear();
          go(links.fresh);
        }}
      >
        Ask the agent…
      </button>
    </div>
  );
}
