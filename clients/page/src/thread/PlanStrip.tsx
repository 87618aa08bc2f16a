//! The agent's present work: the step of its plan, its subagents, and commands in the background.
import type { PlanSnapshot, SubagentProgress } from "@bobbin/client";
import { useEffect } from "react";
import { useClient, useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { count, plural } from "../ui/format";
import type { SideTab } from "../app/route";

interface Props {
  threadId: string;
  plan?: PlanSnapshot;
  running: boolean;
  subagents: readonly SubagentProgress[];
  onOpen: (tab: SideTab) => void;
}

export function PlanStrip({ threadId, plan, running, subagents, onOpen }: Props) {
  const todos = plan?.todos ?? [];
  const done = todos.filter((todo) => todo.status === "completed" || todo.status === "cancelled").length;
  const now = todos.find((todo) => todo.status === "in_progress") ?? todos.find((todo) => todo.status === "pending");
  const working = subagents.filter((agent) => !agent.isCompleted);
  const showPlan = todos.length > 0 && (running || done < todos.length);
  const background = useBackground(threadId);
  if (!showPlan && working.length === 0 && background === 0) return null;
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
      {background > 0 && (
        <button type="button" className="line-button" onClick={() => onOpen("terminals")}>
          <span className="ring" />
          <span className="grow">{plural(background, "command")} in the background</span>
        </button>
      )}
    </div>
  );
}

/** Returns how many commands of a Thread run in the background. */
function useBackground(threadId: string): number {
  const client = useClient();
  const { data, again } = useRequest(
    "terminal/list",
    { threadId },
    useServer()?.capabilities.backgroundTerminals === true,
  );
  useEffect(() => {
    const ends = [client.on("terminal/started", again), client.on("terminal/completed", again)];
    return () => {
      for (const end of ends) end();
    };
  }, [client, again]);
  return data?.terminals.filter(({ status }) => status === "running").length ?? 0;
}
