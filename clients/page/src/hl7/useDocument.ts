//! The live document of a Thread: its text, its status, and the author of its last change.
import { type HermesDocument, type HermesOrigin, RpcError } from "@bobbin/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useClient, useStatus } from "../server/context";
import { message } from "../ui/toast";

export interface Open {
  status: HermesDocument;
  text: string;
}

export interface Live {
  phase: "loading" | "none" | "open" | "failed";
  open?: Open;
  error?: string;
  /** The author of the last change that another client made. */
  by?: HermesOrigin;
  /** Reads the document again. */
  refresh: () => Promise<Open | undefined>;
  /** Makes a change that leads to this version, so that its notification is not taken for another client's. */
  own: <Result>(version: number, change: Promise<Result>) => Promise<Result>;
}

export const reasonOf = (error: unknown) => (error instanceof RpcError ? error.data?.reason : undefined);

export function useDocument(threadId: string): Live {
  const client = useClient();
  const isReady = useStatus().state === "ready";
  const [state, setState] = useState<Omit<Live, "refresh" | "own">>({ phase: "loading" });
  const owned = useRef(new Set<number>());
  const life = useRef(0);

  const read = useCallback(async () => {
    const mine = ++life.current;
    try {
      const [{ documents }, { text, version }] = await Promise.all([
        client.request("hermes/document/list", {}),
        client.request("hermes/document/get", { threadId }),
      ]);
      const status = documents.find((one) => one.threadId === threadId);
      if (mine !== life.current || !status) return undefined;
      const open = { status: { ...status, version }, text };
      setState((now) => ({ ...now, phase: "open", open, error: undefined }));
      return open;
    } catch (error) {
      if (mine !== life.current) return undefined;
      if (reasonOf(error) === "notOpen") setState({ phase: "none" });
      else setState((now) => ({ ...now, phase: now.open ? "open" : "failed", error: message(error) }));
      return undefined;
    }
  }, [client, threadId]);

  // Many changes at once cause one more read, not one each.
  const reading = useRef<Promise<Open | undefined>>(undefined);
  const isStale = useRef(false);
  const refresh = useCallback(() => {
    isStale.current = reading.current !== undefined;
    reading.current ??= (async () => {
      try {
        for (;;) {
          const open = await read();
          if (!isStale.current) return open;
          isStale.current = false;
        }
      } finally {
        reading.current = undefined;
      }
    })();
    return reading.current;
  }, [read]);

  useEffect(() => {
    if (!isReady) return;
    void refresh();
    const focus = () => void client.request("hermes/document/focus", { threadId }).catch(() => {});
    focus();
    addEventListener("focus", focus);
    const stops = [
      client.on("hermes/document/changed", ({ document, origin }) => {
        if (document.threadId !== threadId) return;
        if (origin.kind !== "client" || !owned.current.delete(document.version))
          setState((now) => ({ ...now, by: origin }));
        void refresh();
      }),
      client.on("hermes/document/closed", (closed) => {
        if (closed.threadId !== threadId) return;
        life.current++;
        setState({ phase: "none" });
      }),
      () => removeEventListener("focus", focus),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, [client, threadId, isReady, refresh]);

  const own = useCallback(async <Result>(version: number, change: Promise<Result>) => {
    owned.current = new Set([version]);
    setState((now) => ({ ...now, by: undefined }));
    try {
      return await change;
    } catch (error) {
      owned.current.delete(version);
      // Another client has made that version.
      if (reasonOf(error) === "conflict") setState((now) => ({ ...now, by: { kind: "client" } }));
      throw error;
    }
  }, []);

  return { ...state, refresh, own };
}
