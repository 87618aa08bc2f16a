//! What the calls that wait would do to a file, as a diff of their arguments.
import { lazy, Suspense } from "react";
import { useThread } from "../server/threads";
import { rowsOf } from "../thread/rows";
import type { Subject } from "../thread/tools";

const EditDiff = lazy(() => import("../side/EditDiff"));

/** An approval names its file and not its call: those of the file are shown. */
export function Proposed({ threadId, turnId, target }: { threadId: string; turnId: string; target: string }) {
  const turns = useThread(threadId)?.snapshot.turns.filter(({ id }) => id === turnId) ?? [];
  const calls = rowsOf(turns).flatMap((row) => (row.kind === "tool" && row.tool.status === "waiting" && changes(row.tool.what, target) ? [row.tool] : []));
  return calls.map(({ callId, what: { edit, patch } }) => (
    <Suspense key={callId}>
      <EditDiff edit={edit} patch={patch} />
    </Suspense>
  ));
}

function changes({ edit, patch }: Subject, target: string): boolean {
  const path = target.replaceAll("\\", "/");
  const named = edit?.path.replaceAll("\\", "/").replace(/^\.\//, "");
  return named ? path === named || path.endsWith(`/${named}`) : Boolean(patch?.includes(path.slice(path.lastIndexOf("/") + 1)));
}
