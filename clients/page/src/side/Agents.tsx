//! The subagents of a Thread as a tree: their state, and buttons that close them.
import type { ThreadSnapshot } from "@bobbin/client";
import { useEffect } from "react";
import { links } from "../app/route";
import { useClient, useMay } from "../server/context";
import { useAllThreads } from "../server/threads";
import { useRequest } from "../server/useRequest";
import { markedInLine, threadTitle } from "../text/marked";
import { count } from "../ui/format";
import { complain } from "../ui/toast";

/** Levels of the tree that the page reads. */
const DEEPEST = 6;

export function Agents({ snapshot }: { snapshot: ThreadSnapshot }) {
  return <Children parent={snapshot.id} subagents={snapshot.subagents} depth={0} />;
}

function Children({
  parent,
  subagents,
  depth,
}: {
  parent: string;
  subagents: ThreadSnapshot["subagents"];
  depth: number;
}) {
  const client = useClient();
  const all = useAllThreads();
  const mayChange = useMay("approver");
  const { data, error, again } = useRequest("subagent/children/list", {
    parentThreadId: parent,
    includeThreads: true,
    includeClosed: true,
  });
  useEffect(
    () => client.on("subagent/graphChanged", ({ parentThreadId }) => parentThreadId === parent && again()),
    [client, parent, again],
  );
  if (error) return <p className="note bad">{error}</p>;
  const children = data?.data ?? [];
  if (children.length === 0)
    return depth > 0 ? null : <p className="empty">{data ? "This Thread has no subagents." : "Loading…"}</p>;
  return (
    <ul className={depth > 0 ? "entries agents-children" : "entries"}>
      {children.map(({ edge, thread }) => {
        const now = subagents.find((agent) => agent.label === edge.agentNickname && !agent.isCompleted);
        const runtime = all.find(({ id }) => id === edge.childThreadId)?.runtime ?? thread?.runtime;
        const state = runtime?.waitingOnApproval
          ? "needs approval"
          : runtime?.waitingOnInput
            ? "needs your answer"
            : runtime?.running
              ? "running"
              : edge.status;
        const parameters = { parentThreadId: edge.parentThreadId, childThreadId: edge.childThreadId };
        return (
          <li key={edge.childThreadId}>
            <div className="entry">
              <div className="grow">
                <a href={links.thread(edge.childThreadId)}>
                  {edge.agentNickname ? markedInLine(edge.agentNickname) : threadTitle(thread, edge.childThreadId)}
                </a>
                <p className="meta">
                  {[
                    edge.agentRole,
                    state,
                    now && (now.currentToolDisplay ?? now.currentTool ?? "thinks"),
                    now && `${count(now.inputTokens + now.outputTokens)} tokens`,
                  ]
                    .filter(Boolean)
                    .join(" · ")}
                </p>
              </div>
              {mayChange && edge.status === "open" && edge.supportsClose && (
                <button
                  type="button"
                  className="btn small"
                  onClick={() => void client.request("subagent/close", parameters).then(again, complain)}
                >
                  Close
                </button>
              )}
              {mayChange && edge.status === "closed" && edge.supportsResume && (
                <button
                  type="button"
                  className="btn small"
                  onClick={() => void client.request("subagent/resume", parameters).then(again, complain)}
                >
                  Resume
                </button>
              )}
            </div>
            {depth < DEEPEST && <Children parent={edge.childThreadId} subagents={[]} depth={depth + 1} />}
          </li>
        );
      })}
    </ul>
  );
}
