//! How full the model's window is, and what the Thread has used.
import type { ThreadSnapshot } from "@bobbin/client";
import { count, money } from "../ui/format";

export function Usage({ snapshot }: { snapshot: ThreadSnapshot }) {
  const usage = snapshot.thread?.contextUsage;
  if (!usage || usage.tokens === 0) return null;
  const part = Math.min(1, usage.tokens / Math.max(1, usage.contextWindow));
  const percent = Math.round(part * 100);
  const cost = snapshot.turns.reduce((sum, turn) => sum + (turn.cost ?? 0), 0);
  const text = `${usage.tokens.toLocaleString()} of ${usage.contextWindow.toLocaleString()} tokens of the model's window are in use. It is summarized at ${usage.autoCompactThreshold.toLocaleString()}.`;
  return (
    <span className={usage.tokens >= usage.warningThreshold ? "usage high" : "usage"} title={text}>
      <meter min={0} max={100} value={percent} aria-label="Model window in use" />
      <span className="meta num">
        {count(usage.tokens)} · {percent} %{cost > 0 && ` · ${money(cost)}`}
      </span>
    </span>
  );
}
