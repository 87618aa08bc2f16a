//! Runs of actions that this page started. They continue while another part of the page is shown.
import { type Client, type FineCodeRunResult, RpcError } from "@bobbin/client";
import { useSyncExternalStore } from "react";
import { message } from "../ui/toast";

export interface Run {
  id: string;
  action: string;
  startedAt: number;
  /** The progress, while it runs. */
  title?: string;
  step?: string;
  percentage?: number;
  state: "running" | "done" | "failed" | "cancelled";
  results?: readonly FineCodeRunResult[];
  error?: string;
}

/** Most runs in the list, the running ones too. */
const MOST = 20;
const CANCELLED = -32800;

let runs: readonly Run[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: readonly Run[]) {
  runs = next;
  for (const listener of listeners) listener();
}

const change = (id: string, more: Partial<Run>) => set(runs.map((run) => (run.id === id ? { ...run, ...more } : run)));

export const useRuns = () =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => runs,
  );

export function start(client: Client, action: string, payload: unknown, projectPaths: string[] | undefined) {
  const id = `page-${Date.now()}-${++last}`;
  set([{ id, action, startedAt: Date.now(), state: "running" as const }, ...runs].slice(0, MOST));
  const stop = client.on("finecode/action/progress", ({ runId, title, message: step, percentage }) => {
    if (runId === id)
      change(id, {
        ...(title != null && { title }),
        ...(step != null && { step }),
        ...(percentage != null && { percentage }),
      });
  });
  // A build may take long. The end of the connection ends the request.
  client
    .request(
      "finecode/action/run",
      { action, payload, runId: id, ...(projectPaths && { projectPaths }) },
      { timeoutMs: 0 },
    )
    .then(
      ({ results }) => change(id, { state: "done", results }),
      (error: unknown) =>
        change(
          id,
          error instanceof RpcError && error.code === CANCELLED
            ? { state: "cancelled" }
            : { state: "failed", error: message(error) },
        ),
    )
    .finally(stop);
}

export const cancel = (client: Client, run: Run) => client.request("finecode/action/cancel", { runId: run.id });
