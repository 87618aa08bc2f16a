//! What a Turn changed in files: as the server sent it, else as it is read again.
import type { TurnState } from "@bobbin/client";
import { useRequest } from "../server/useRequest";

type Diff = NonNullable<TurnState["diff"]>;

/** Returns nothing while it is being read. */
export function useDiff(turn: TurnState, threadId: string): { diff?: Diff; error?: string } {
  const { data, error } = useRequest("turn/diff/read", { threadId, turnId: turn.id }, turn.diff === undefined);
  const diff = turn.diff ?? data;
  return { ...(diff && { diff }), ...(error && { error }) };
}
