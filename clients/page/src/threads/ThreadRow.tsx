//! A Thread in the list: its title, and whether it runs, waits or has failed.
import type { ThreadSummary } from "@bobbin/client";
import { memo } from "react";
import { links } from "../app/route";
import { threadTitle } from "../text/marked";
import { fullTime, shortTime } from "../ui/format";
import { useOutcome } from "../waiting/outcomes";

export const ThreadRow = memo(function ThreadRow({
  thread,
  waits,
  current,
}: {
  thread: ThreadSummary;
  waits: boolean;
  current: boolean;
}) {
  const state = useThreadState(thread, waits);
  const title = threadTitle(thread, "New Thread");
  return (
    <a
      className={`thread-row is-${state.kind}`}
      href={links.thread(thread.id)}
      aria-current={current ? "page" : undefined}
    >
      <span className="cut grow" dir="auto" title={title}>
        {title}
      </span>
      {state.kind === "waiting" && <span className="dot" />}
      {state.kind === "running" && <span className="ring" />}
      {state.text ? <span className="thread-state">{state.text}</span> : null}
      {state.kind === "idle" && (
        <time className="meta num" dateTime={thread.lastActiveAt} title={fullTime(thread.lastActiveAt)}>
          {shortTime(thread.lastActiveAt)}
        </time>
      )}
    </a>
  );
});

function useThreadState(
  { id, runtime, status, originChannel }: ThreadSummary,
  waits: boolean,
): { kind: "waiting" | "running" | "failed" | "idle"; text?: string } {
  const outcome = useOutcome(id);
  if (waits) return { kind: "waiting", text: runtime?.waitingOnInput ? "needs your answer" : "needs approval" };
  if (runtime?.running) return { kind: "running", text: originChannel === "web" ? "" : originChannel };
  if (runtime?.waitingOnPlanConfirmation) return { kind: "waiting", text: "plan" };
  if (outcome === "failed") return { kind: "failed", text: "failed" };
  return { kind: "idle", text: status === "paused" ? "paused" : undefined };
}
