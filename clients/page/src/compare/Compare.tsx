//! Attempts at one task, side by side: the answer, the changes and the cost of each. The user takes one.
import type { ThreadSnapshot, TurnState, WorktreeStatus } from "@bobbin/client";
import { useMemo, useState } from "react";
import { links } from "../app/route";
import { TakeDialog } from "../git/TakeDialog";
import { useRequest } from "../server/useRequest";
import { needsAnswer, useThread, useThreadList } from "../server/threads";
import { useDiff } from "../side/useDiff";
import { Markdown } from "../text/Markdown";
import { markedInLine } from "../text/marked";
import { Icon } from "../ui/Icon";
import { count, money, plural } from "../ui/format";
import { attemptsOf, workerOf } from "./attempts";
import "./compare.css";

export default function Compare({ group }: { group: string }) {
  const { data, error, again } = useRequest("worktree/list", {});
  const attempts = useMemo(() => attemptsOf(data?.data ?? [], group), [data, group]);
  const [taking, setTaking] = useState<string>();
  return (
    <main className="page">
      <header className="bar">
        <a className="btn plain icon only-narrow" href={links.home} aria-label="Back to the Threads">
          <Icon name="back" />
        </a>
        <h1 className="cut grow">Compare</h1>
      </header>
      <div className="page-body compare">
        {error && <p className="note bad">{error}</p>}
        {!data && !error && <p className="meta">Loading…</p>}
        {data && attempts.length === 0 && (
          <p className="empty">The worktrees are removed. The Threads are still there.</p>
        )}
        <div className="attempts">
          {attempts.map((attempt) => (
            <Attempt key={attempt.threadId} attempt={attempt} onTake={() => setTaking(attempt.threadId)} />
          ))}
        </div>
      </div>
      {taking && (
        <TakeDialog
          threadId={taking}
          others={attempts.map(({ threadId }) => threadId).filter((id) => id !== taking)}
          onTaken={again}
          onClose={() => setTaking(undefined)}
        />
      )}
    </main>
  );
}

function Attempt({ attempt, onTake }: { attempt: WorktreeStatus; onTake: () => void }) {
  const { threadId } = attempt;
  const snapshot = useThread(threadId)?.snapshot;
  const listed = useThreadList().threads.find(({ id }) => id === threadId);
  const turn = snapshot?.turns.at(-1);
  const running = turn !== undefined && !turn.completedAt;
  const state = listed && needsAnswer(listed) ? "needs your answer" : running ? "running" : undefined;
  const name = snapshot?.thread ? workerOf(snapshot.thread.configuration ?? {}) : "…";
  return (
    <section className="attempt" aria-label={name}>
      <div className="row">
        <h2 className="cut grow">
          <a href={links.thread(threadId)}>{markedInLine(name)}</a>
        </h2>
        {state && <span className="meta">{state}</span>}
      </div>
      <p className="meta num">{snapshot && figures(snapshot)}</p>
      {turn && <Answer turn={turn} />}
      {turn && !running && <ChangedFiles turn={turn} threadId={threadId} />}
      <div className="row">
        <span className="grow" />
        <button type="button" className="btn primary" disabled={running || !turn} onClick={onTake}>
          Take…
        </button>
      </div>
    </section>
  );
}

function figures({ thread, turns }: ThreadSnapshot): string {
  const tokens = thread?.contextUsage?.tokens ?? 0;
  const last = turns.at(-1);
  const cost = (thread?.cost ?? 0) + (last && !last.completedAt ? (last.cost ?? 0) : 0);
  return [tokens > 0 && `${count(tokens)} tokens`, cost > 0 && money(cost)].filter(Boolean).join(" · ");
}

function Answer({ turn }: { turn: TurnState }) {
  const answer = turn.items.findLast((item) => item.type === "agentMessage")?.payload.text;
  if (turn.status === "failed") return <p className="note bad">{turn.error ?? "The Turn has failed."}</p>;
  if (!answer) return null;
  return (
    <div className="attempt-answer" tabIndex={0} role="group" aria-label="Answer">
      <Markdown text={answer} />
    </div>
  );
}

function ChangedFiles({ turn, threadId }: { turn: TurnState; threadId: string }) {
  const { diff } = useDiff(turn, threadId);
  const files = diff?.files ?? [];
  if (!diff) return null;
  return (
    <>
      <p>
        <a href={links.changes(threadId)}>
          {files.length === 0 ? "No files changed" : `${plural(files.length, "file")} changed`}
        </a>
      </p>
      <ul className="plain-list">
        {files.map((file) => (
          <li key={file.path} className="row">
            <code className="cut grow">{markedInLine(file.path)}</code>
            <span className="num meta">
              <span className="add">+{file.additions}</span> <span className="del">−{file.deletions}</span>
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
