//! The outcome of each Thread's last Turn, as far as this page has seen or read it.
import type { Client } from "@bobbin/client";
import { useSyncExternalStore } from "react";

export type Outcome = "completed" | "failed" | "cancelled";

const outcomes = new Map<string, Outcome>();
const listeners = new Set<() => void>();

function set(threadId: string, outcome: Outcome | undefined) {
  if (outcomes.get(threadId) === outcome) return;
  if (outcome) outcomes.set(threadId, outcome);
  else outcomes.delete(threadId);
  for (const listener of listeners) listener();
}

export function useOutcome(threadId: string): Outcome | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => outcomes.get(threadId),
  );
}

/** Reads the outcome of a Thread's last Turn. */
export async function learnOutcome(client: Client, threadId: string): Promise<Outcome | undefined> {
  const { thread } = await client.request("thread/read", { threadId, includeTurns: true, turnLimit: 1 });
  const status = thread.turns?.at(-1)?.status;
  const outcome = status === "completed" || status === "failed" || status === "cancelled" ? status : undefined;
  set(threadId, outcome);
  return outcome;
}

export const forgetOutcome = (threadId: string) => set(threadId, undefined);
