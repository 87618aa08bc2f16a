//! The subagents of a Thread: what they do, and closing them.
import type { ThreadSnapshot } from "@bobbin/client";
import { useEffect } from "react";
import { links } from "../app/route";
import { useClient } from "../server/context";
import { useRequest } from "../server/useRequest";
import { count } from "../ui/format";
import { complain } from "../ui/toast";

export function Agents({ snapshot }: { snapshot: ThreadSnapshot }) {
  const client = useClient();
  const { data, error, again } = useRequest("subagent/children/list", { parentThreadId: snapshot.id, includeThreads: true, includeClosed: true });
  useEffect(() => client.on("subagent/graphChanged", ({ parentThreadId }) => parentThreadId === snapshot.id && again()), [client, snapshot.id, again]);
  if (error) return <p className="note bad">{error}</p>;
  const children = data?.data ?? [];
  if (children.length === 0) return <p className="empty">{data ? "This Thread has no subagents." : "Loading…"}</p>;
  return (
    <ul className="entries">
      {children.map(({ edge, thread }) => {
        const now = snapshot.subagents.find((agent) => agent.label === edge.agentNickname && !agent.isCompleted);
        const parameters = { parentThreadId: edge.parentThreadId, childThreadId: edge.childThreadId };
        return (
          <li key={edge.childThreadId} className="entry">
            <div className="grow">
              <a href={links.thread(edge.childThreadId)}>{edge.agentNickname ?? thread?.displayName ?? edge.childThreadId}</a>
              <p className="meta">
                {[edge.agentRole, thread?.runtime.running ? "at work" : edge.status, now && (now.currentToolDisplay ?? now.currentTool ?? "thinks"), now && `${count(now.inputTokens + now.outputTokens)} tokens`].filter(Boolean).join(" · ")}
              </p>
            </div>
            {edge.status === "open" && edge.supportsClose && (
              <button type="button" className="btn small" onClick={() => void client.request("subagent/close", parameters).then(again, complain)}>
                Close
              </button>
            )}
            {edge.status === "closed" && edge.supportsResume && (
              <button type="button" className="btn small" onClick={() => void client.request("subagent/resume", parameters).then(again, complain)}>
                Resume
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
