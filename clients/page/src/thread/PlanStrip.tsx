//! What the agent is at: the step of its plan, and what its subagents do.
import type { PlanSnapshot, SubagentProgress } from "@bobbin/client";
import { count } from "../ui/format";
import type { SideTab } from "./ThreadView";

interface Props {
  plan?: PlanSnapshot;
  running: boolean;
  subagents: readonly SubagentProgress[];
  onOpen: (tab: SideTab) => void;
}

export function PlanStrip({ plan, running, subagents, onOpen }: Props) {
  const todos = plan?.todos ?? [];
  const done = todos.filter((todo) => todo.status === "completed" || todo.status === "cancelled").length;
  const now = todos.find((todo) => todo.status === "in_progress") ?? todos.find((todo) => todo.status === "pending");
  const working = subagents.filter((agent) => !agent.isCompleted);
  const showPlan = todos.length > 0 && (running || done < todos.length);
  if (!showPlan && working.length === 0) return null;
  return (
    <div className="strip">
      {showPlan && (
        <button type="button" className="line-button" onClick={() => onOpen("plan")}>
          <span className="verb">Plan</span>
          <span className="cut grow">{now?.content ?? "all steps are done"}</span>
          <span className="meta num">
            {done}/{todos.length}
          </span>
        </button>
      )}
      {working.map((agent) => (
        <button key={agent.label} type="button" className="line-button" onClick={() => onOpen("agents")}>
          <span className="ring" />
          <span className="verb">{agent.label}</span>
          <span className="cut grow meta">{agent.currentToolDisplay ?? agent.currentTool ?? "thinks"}</span>
          <span className="meta num">{count(agent.inputTokens + agent.outputTokens)} tokens</span>
        </button>
      ))}
    </div>
  );
}
