//! The call that an approval is about: a diff for a file, and the arguments for an MCP server.
import type { ApprovalRequestParams } from "@bobbin/client";
import { lazy, Suspense } from "react";
import { useThread } from "../server/threads";
import { Arguments } from "../thread/items/ToolCard";
import { rowsOf } from "../thread/rows";

const EditDiff = lazy(() => import("../side/EditDiff"));

/** Shows only the call that the approval names. Another one with a similar path or name could look harmless. */
export function Proposed({ approval }: { approval: ApprovalRequestParams }) {
  const { threadId, turnId, callId } = approval;
  const thread = useThread(threadId)?.snapshot;
  if (!thread || thread.phase === "loading") return <Loading />;
  if (thread.phase === "failed") return <p className="note bad">The change cannot be shown: {thread.error}</p>;
  const turns = thread.turns.filter(({ id }) => id === turnId);
  const tool = rowsOf(turns).flatMap((row) => (row.kind === "tool" && row.tool.callId === callId ? [row.tool] : []))[0];
  if (!tool)
    return <p className="note bad">The server does not say which call this is, so its arguments cannot be shown.</p>;
  const { edit, patch } = tool.what;
  if (!edit && !patch) return <Arguments tool={tool} />;
  return (
    <Suspense fallback={<Loading />}>
      <EditDiff edit={edit} patch={patch} />
    </Suspense>
  );
}

/** Returns whether the arguments of the call say more than the approval. */
export const hasProposed = ({ approvalType, operation, target }: ApprovalRequestParams) =>
  approvalType === "file" ? operation === "write" || operation === "edit" : /^(mcp|finecode):/.test(target);

function Loading() {
  return (
    <p className="meta" data-more={1}>
      Loading the change…
    </p>
  );
}
