//! Live state for the parts of the page: the list of Threads, and single Threads.
import type {
  Client,
  InputPart,
  ThreadListSnapshot,
  ThreadSnapshot,
  ThreadStore,
  ThreadSummary,
  TurnState,
} from "@bobbin/client";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { identity, useClient } from "./context";

/** Turns in a page of history. */
const TURNS = 40;

export const openThread = (client: Client, id: string) => client.openThread(id, { turnLimit: TURNS });

const EMPTY: ThreadListSnapshot = { threads: [], phase: "loading", error: undefined };
const ListContext = createContext<ThreadListSnapshot>(EMPTY);

const isSubagent = (thread: ThreadSummary) => thread.source.kind === "subagent";

/** Returns the Threads, without those of subagents. */
export function useThreadList(): ThreadListSnapshot {
  const list = useContext(ListContext);
  return useMemo(() => ({ ...list, threads: list.threads.filter((thread) => !isSubagent(thread)) }), [list]);
}

/** Returns all Threads, those of subagents too. */
export const useAllThreads = () => useContext(ListContext).threads;

/** Whether a Thread waits for an approval or for an answer to its model's question. */
export const needsAnswer = ({ runtime }: ThreadSummary) =>
  Boolean(runtime?.waitingOnApproval || runtime?.waitingOnInput);

/** Returns the last part of the workspace's path, once a Thread names it. */
export function workspaceName(threads: readonly ThreadSummary[]): string {
  return threads[0]?.workspacePath.split(/[\\/]/).findLast(Boolean) ?? "Bobbin";
}

const nothing = () => () => {};

/** Makes the list once. It has the Threads of every editor, terminal and page of the workspace. */
export function ThreadListProvider({ children }: { children: ReactNode }) {
  const client = useClient();
  const [list, setList] = useState<ReturnType<Client["openThreadList"]>>();
  useEffect(() => {
    let opened: ReturnType<Client["openThreadList"]> | undefined;
    let current = true;
    const open = (origins: string[]) => {
      if (!current) return;
      opened = client.openThreadList({
        identity,
        includeArchived: true,
        includeSubAgents: true,
        crossChannelOrigins: origins,
      });
      setList(opened);
    };
    client.request("channel/list", {}).then(
      ({ channels }) => open(channels.map(({ name }) => name)),
      () => open([]),
    );
    return () => {
      current = false;
      opened?.close();
    };
  }, [client]);
  const snapshot = useSyncExternalStore(list?.subscribe ?? nothing, list?.getSnapshot ?? (() => EMPTY));
  return <ListContext value={snapshot}>{children}</ListContext>;
}

/** Returns a Thread's present snapshot and its store, or nothing until the Thread is open. */
export function useThread(id: string): { snapshot: ThreadSnapshot; store: ThreadStore } | undefined {
  const client = useClient();
  const [store, setStore] = useState<ThreadStore>();
  useEffect(() => {
    const opened = openThread(client, id);
    setStore(opened);
    return () => opened.close();
  }, [client, id]);
  const snapshot = useSyncExternalStore(store?.subscribe ?? nothing, store?.getSnapshot ?? (() => undefined));
  return store && snapshot && store.id === id ? { snapshot, store } : undefined;
}

/** The actions that rows of an open Thread offer. */
export interface ThreadActions {
  threadId: string;
  showChanges: (turnId: string) => void;
  askUndo: (turnId: string) => void;
  /** Starts a Thread with a copy of this one up to a Turn. */
  fork: (turnId: string) => void;
  /** Starts a Thread with what was before a Turn, and with its input as the draft. */
  edit: (turnId: string, parts: readonly InputPart[]) => void;
  /** Adds a text to the draft. */
  write: (text: string) => void;
  /** Sends the input of a Turn again. */
  again: (turn: TurnState) => void;
}

export const ActionsContext = createContext<ThreadActions | null>(null);

export function useActions(): ThreadActions {
  const actions = useContext(ActionsContext);
  if (!actions) throw new Error("there is no Thread here");
  return actions;
}
