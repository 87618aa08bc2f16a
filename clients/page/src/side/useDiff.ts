//! A Turn's diff: from its notification, else from a request.
import type { TurnState } from "@bobbin/client";
import { useRequest } from "../server/useRequest";

type Diff = NonNullable<TurnState["diff"]>;

/** Returns nothing until the diff is read. */
export function useDiff(turn: TurnState, threadId: string): { diff?: Diff; error?: string } {
  const { data, error } = useRequest("turn/diff/read", { threadId, turnId: turn.id }, turn.diff === undefined);
  const diff = turn.diff ?? data;
  return { ...(diff && { diff }), ...(error && { error }) };
}
