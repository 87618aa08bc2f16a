//! The used share of the model's context window, and the tokens of the Thread.
import type { ThreadSnapshot } from "@bobbin/client";
import { count, money } from "../ui/format";

export function Usage({ snapshot }: { snapshot: ThreadSnapshot }) {
  const usage = snapshot.thread?.contextUsage;
  if (!usage || usage.tokens === 0) return null;
  const part = Math.min(1, usage.tokens / Math.max(1, usage.contextWindow));
  const percent = Math.round(part * 100);
  const last = snapshot.turns.at(-1);
  const running = last && !last.completedAt ? (last.cost ?? 0) : 0;
  const cost = (snapshot.thread?.cost ?? 0) + running;
  const paid = cost > 0 ? ` The Thread has cost ${money(cost)}, with its subagents and title.` : "";
  const text = `${usage.tokens.toLocaleString()} of ${usage.contextWindow.toLocaleString()} tokens of the model's window are in use. It is summarized at ${usage.autoCompactThreshold.toLocaleString()}.${paid}`;
  return (
    <span className={usage.tokens >= usage.warningThreshold ? "usage high" : "usage"} title={text}>
      <meter min={0} max={100} value={percent} aria-label="Model window in use" />
      <span className="meta num">
        {count(usage.tokens)} · {percent} %{cost > 0 && ` · ${money(cost)}`}
      </span>
    </span>
  );
}
