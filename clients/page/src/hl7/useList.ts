//! Lists that notifications refresh: open documents, extensions and their buttons.
import type { HermesDocument, HermesExtension, HermesToolbarButton } from "@bobbin/client";
import { useEffect } from "react";
import { useClient, useStatus } from "../server/context";
import { useRequest } from "../server/useRequest";

const NO_DOCUMENTS: readonly HermesDocument[] = [];
const NO_EXTENSIONS: readonly HermesExtension[] = [];
const NO_BUTTONS: readonly HermesToolbarButton[] = [];

type News =
  | "hermes/document/changed"
  | "hermes/document/closed"
  | "hermes/toolbar/changed"
  | "hermes/extension/changed";
const DOCUMENTS: readonly News[] = ["hermes/document/changed", "hermes/document/closed"];
const EXTENSIONS: readonly News[] = ["hermes/extension/changed", "hermes/toolbar/changed"];

/** Reads again at each of these notifications, and on each new connection. */
function useNews(news: readonly News[], again: () => void) {
  const client = useClient();
  const isReady = useStatus().state === "ready";
  useEffect(() => {
    if (!isReady) return;
    again();
    const stops = news.map((method) => client.on(method, again));
    return () => {
      for (const stop of stops) stop();
    };
  }, [client, isReady, news, again]);
}

export function useDocuments() {
  const { data, error, again } = useRequest("hermes/document/list", {});
  useNews(DOCUMENTS, again);
  return { documents: data?.documents ?? NO_DOCUMENTS, isLoading: !data && !error, error };
}

export function useExtensions(): readonly HermesExtension[] {
  const { data, again } = useRequest("hermes/extension/list", {});
  useNews(EXTENSIONS, again);
  return data?.extensions ?? NO_EXTENSIONS;
}

export function useButtons(): readonly HermesToolbarButton[] {
  const { data, again } = useRequest("hermes/toolbar/list", {});
  useNews(EXTENSIONS, again);
  return data?.buttons ?? NO_BUTTONS;
}
