//! The changes of the repository, and the commit of them.
import type { GitFile, GitStatusResult } from "@bobbin/client";
import { type FormEvent, useMemo, useState } from "react";
import { useRemembered } from "../app/remember";
import { go, links } from "../app/route";
import { addToDraft } from "../compose/useDraft";
import { useClient, useMay } from "../server/context";
import { useRequest } from "../server/useRequest";
import { type Comments, Commenting, prompt, useComments } from "../side/comments";
import { type FileDiff, parsed } from "../side/diff";
import { DiffTable } from "../side/DiffTable";
import { DiscardButton, Discarding, useDiscard } from "../side/discard";
import { markedLines } from "../side/markedLines";
import { Folded } from "../side/Folded";
import { Layout } from "../side/Layout";
import { markedInLine } from "../text/marked";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { plural } from "../ui/format";
import { complain, message, say } from "../ui/toast";
import { FetchDialog } from "./FetchDialog";
import { PullRequestDialog } from "./PullRequestDialog";
import { PushDialog } from "./PushDialog";
import { useRepository } from "./status";
import "./git.css";

/** Files whose changes are open at first. */
const OPEN = 20;

/** Files that a draft of a message is about at most. */
const MOST_DRAFTED = 500;

const words: Record<GitFile["state"], string> = {
  added: "added",
  modified: "",
  deleted: "deleted",
  untracked: "new",
  conflicted: "conflict",
};

export default function Changes({ thread }: { thread?: string }) {
  const { status, error, again } = useRepository(thread);
  const comments = useComments(thread ?? "repository");
  const [dialog, setDialog] = useState<"fetch" | "push" | "request">();
  const close = () => setDialog(undefined);
  const isOwner = useMay("owner");
  const mayCommit = useMay("approver");
  return (
    <main className="page">
      <header className="bar">
        <a
          className="btn plain icon only-narrow"
          href={thread ? links.thread(thread) : links.home}
          aria-label={thread ? "Back to the Thread" : "Back to the Threads"}
        >
          <Icon name="back" />
        </a>
        <h1 className="cut grow">
          {(status?.branch && markedInLine(status.branch)) ??
            (status?.head ? `at ${status.head.slice(0, 9)}` : "Changes")}
        </h1>
        {status && <Upstream status={status} />}
        {status?.branch && (
          <>
            {mayCommit && status.behind > 0 && status.ahead === 0 && <Update thread={thread} onUpdate={again} />}
            {isOwner && (
              <>
                <button type="button" className="btn small" onClick={() => setDialog("push")}>
                  Push…
                </button>
                <Menu
                  label="Repository"
                  entries={[
                    { label: "Fetch…", run: () => setDialog("fetch") },
                    { label: "Pull request…", run: () => setDialog("request") },
                  ]}
                >
                  <Icon name="more" />
                </Menu>
              </>
            )}
          </>
        )}
      </header>
      <div className="page-body changes">
        {error && <p className="note bad">{error}</p>}
        {status?.problem && <p className="empty">There is no repository here: {status.problem}</p>}
        {status?.repository && <Compared status={status} comments={comments} thread={thread} onChange={again} />}
      </div>
      <Review comments={comments} thread={thread} />
      {dialog === "push" && <PushDialog thread={thread} onPushed={again} onClose={close} />}
      {dialog === "request" && <PullRequestDialog thread={thread} onClose={close} />}
      {dialog === "fetch" && <FetchDialog thread={thread} onFetched={again} onClose={close} />}
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

/** Moves the branch to its upstream. */
function Update({ thread, onUpdate }: { thread?: string; onUpdate: () => void }) {
  const client = useClient();
  const [busy, setBusy] = useState(false);
  const update = () => {
    setBusy(true);
    client
      .request("git/fastForward", thread ? { threadId: thread } : {}, { timeoutMs: 0 })
      .then(onUpdate)
      .catch(complain)
      .finally(() => setBusy(false));
  };
  return (
    <button type="button" className="btn small" disabled={busy} onClick={update}>
      Update
    </button>
  );
}

interface ComparedProps {
  status: GitStatusResult;
  comments: Comments;
  thread?: string;
  onChange: () => void;
}

function Compared({ status, comments, thread, onChange }: ComparedProps) {
  const where = thread ? { threadId: thread } : {};
  const mayCommit = useMay("approver");
  const [base, setBase] = useState("");
  const [view, setView] = useRemembered("diff", "inline");
  const { data: all } = useRequest("git/branches", where);
  // A file can change without the list of changed files: each reading of the state compares anew.
  const discard = useDiscard(thread, onChange);
  const diff = useRequest("git/diff", { ...where, ...(base && { base }) }, true, status);
  const text = diff.data?.diff ?? "";
  const files = useMemo(() => parsed(text).map(markedLines), [text]);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const known = new Map(status.files.map((file) => [file.path, file]));
  const unseen = status.files.filter(({ path }) => !files.some((file) => file.path === path));
  const paths = status.files.filter(({ state }) => state !== "conflicted").map(({ path }) => path);
  const chosen = paths.filter((path) => !left.has(path));
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
      {!mayCommit && paths.length > 0 && (
        <p className="note">An approver commits: ask the owner of the server for the role.</p>
      )}
      {mayCommit && !base && paths.length > 0 && (
        <Commit
          paths={chosen}
          of={paths.length}
          onAll={(all) => setLeft(new Set(all ? [] : paths))}
          thread={thread}
          onCommit={onChange}
        />
      )}
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
      <Discarding value={base ? undefined : discard}>
        {diff.data && files.length === 0 && unseen.length === 0 && <p className="empty">Nothing has changed.</p>}
        {files.map((file, index) => (
          <Commenting key={file.path} file={file} comments={comments}>
            <Folded
              name={file.path}
              open={index < OPEN}
              head={
                <>
                  {mayCommit && !base && paths.includes(file.path) && (
                    <Choice path={file.path} left={left.has(file.path)} onLeave={leave} />
                  )}
                  <Name file={file} state={known.get(file.path)?.state} />
                </>
              }
            >
              <DiffTable file={file} split={view === "side by side"} />
            </Folded>
          </Commenting>
        ))}
      </Discarding>
      {!base &&
        unseen.map((file) => (
          <p key={file.path} className="row">
            {mayCommit && <Choice path={file.path} left={left.has(file.path)} onLeave={leave} />}
            <code className="cut">{markedInLine(file.path)}</code>
            <span className="meta">{words[file.state] || "changed"}; its lines are not shown</span>
          </p>
        ))}
      {(diff.data?.truncated || status.truncated) && <p className="note">Some files or lines are not shown.</p>}
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
      <DiscardButton patch={file.patch} what={`the changes of ${file.path}`} />
    </>
  );
}

interface CommitProps {
  paths: string[];
  of: number;
  onAll: (all: boolean) => void;
  thread?: string;
  onCommit: () => void;
}

function Commit({ paths, of, onAll, thread, onCommit }: CommitProps) {
  const where = thread ? { threadId: thread } : {};
  const client = useClient();
  const [text, setText] = useRemembered(`commit.${thread ?? ""}`, "");
  const [busy, setBusy] = useState<"draft" | "commit">();
  const [error, setError] = useState<string>();

  const during = (what: "draft" | "commit", work: () => Promise<void>) => {
    setBusy(what);
    setError(undefined);
    work()
      .catch((error: unknown) => setError(message(error)))
      .finally(() => setBusy(undefined));
  };
  const draft = () =>
    during("draft", async () => {
      setText(
        (await client.request("workspace/commitMessage/suggest", { ...where, paths: paths.slice(0, MOST_DRAFTED) }))
          .message,
      );
    });
  const commit = (event: FormEvent) => {
    event.preventDefault();
    during("commit", async () => {
      const { commit } = await client.request(
        "git/commit",
        { ...where, message: text.trim(), paths },
        { timeoutMs: 0 },
      );
      setText("");
      say(`Committed ${commit.slice(0, 9)}`);
      onCommit();
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
          {paths.length} of {plural(of, "file")}{" "}
          {of > 1 && (
            <button type="button" className="link" onClick={() => onAll(paths.length < of)}>
              {paths.length < of ? "all" : "none"}
            </button>
          )}
        </span>
        <button type="button" className="btn" disabled={busy !== undefined || paths.length === 0} onClick={draft}>
          {busy === "draft" ? "Drafting…" : "Draft"}
        </button>
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

/** The comments on lines, on their way to the agent. */
function Review({ comments, thread }: { comments: Comments; thread?: string }) {
  if (comments.all.length === 0) return null;
  return (
    <div className="bar review">
      <span className="grow">{plural(comments.all.length, "comment")}</span>
      <button type="button" className="btn" onClick={comments.clear}>
        Discard
      </button>
      <button
        type="button"
        className="btn primary"
        onClick={() => {
          addToDraft(thread ?? "new", prompt(comments.all));
          comments.clear();
          go(thread ? links.thread(thread) : links.fresh);
        }}
      >
        Ask the agent…
      </button>
    </div>
  );
}
