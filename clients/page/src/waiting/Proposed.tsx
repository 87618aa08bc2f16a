//! What the calls that wait would do: to a file, as a diff of their arguments; of an MCP server's tool or a FineCode action, their arguments.
import type { ApprovalRequestParams } from "@bobbin/client";
import { lazy, Suspense } from "react";
import { useThread } from "../server/threads";
import { Arguments } from "../thread/items/ToolCard";
import { rowsOf, type ToolView } from "../thread/rows";
import type { Subject } from "../thread/tools";

const EditDiff = lazy(() => import("../side/EditDiff"));

/** An approval names its file or tool and not its call: the calls of that are shown, or all of the kind if none fits. */
export function Proposed({ approval }: { approval: ApprovalRequestParams }) {
  const { threadId, turnId, approvalType, operation, target } = approval;
  const thread = useThread(threadId)?.snapshot;
  if (!thread || thread.phase === "loading") return <Loading />;
  if (thread.phase === "failed") return <p className="note bad">The change cannot be shown: {thread.error}</p>;
  const turns = thread.turns.filter(({ id }) => id === turnId);
  const isFile = approvalType === "file";
  const isKind = ({ name, what }: ToolView) => (isFile ? what.edit || what.patch : called.test(name));
  const fits = ({ name, what }: ToolView) => (isFile ? changes(what, target) : name.replace(called, "") === operation);
  const waiting = rowsOf(turns).flatMap((row) => (row.kind === "tool" && row.tool.status === "waiting" && isKind(row.tool) ? [row.tool] : []));
  const matching = waiting.filter(fits);
  return (matching.length > 0 ? matching : waiting).map((tool) =>
    isFile ? (
      <Suspense key={tool.callId} fallback={<Loading />}>
        <EditDiff edit={tool.what.edit} patch={tool.what.patch} />
      </Suspense>
    ) : (
      <Arguments key={tool.callId} tool={tool} />
    ),
  );
}

/** What stands before the tool or action in the name of a call. */
const called = /^(mcp__.*?|finecode)__/;

/** Whether an approval is about calls whose arguments say more than it does. */
export const hasProposed = ({ approvalType, operation, target }: ApprovalRequestParams) => (approvalType === "file" ? operation === "write" || operation === "edit" : /^(mcp|finecode):/.test(target));

function Loading() {
  return (
    <p className="meta" data-more={1}>
      Loading the change…
    </p>
  );
}

function changes({ edit, patch }: Subject, target: string): boolean {
  const path = target.replaceAll("\\", "/");
  const named = edit?.path.replaceAll("\\", "/").replace(/^\.\//, "");
  return named ? path === named || path.endsWith(`/${named}`) : Boolean(patch?.includes(path.slice(path.lastIndexOf("/") + 1)));
}
