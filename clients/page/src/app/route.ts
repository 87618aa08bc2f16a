//! The part of the page that is shown. The address's fragment names it, so that Back works.
import { useSyncExternalStore } from "react";

/** The tabs beside a conversation. */
export type SideTab = "changes" | "plan" | "terminals" | "agents";

export type Route =
  | { at: "home" }
  | { at: "thread"; id: string; row?: string; tab?: SideTab }
  | { at: "new" }
  | { at: "waiting" }
  | { at: "documents" }
  | { at: "document"; id: string }
  | { at: "actions" }
  | { at: "changes"; thread?: string }
  | { at: "compare"; group: string }
  | { at: "terminal"; thread?: string }
  | { at: "files"; path: string; line?: number }
  | { at: "settings"; section: string };

let parsed: { hash: string; route: Route } = { hash: "", route: { at: "home" } };

export function route(): Route {
  if (parsed.hash !== location.hash) parsed = { hash: location.hash, route: parse(location.hash) };
  return parsed.route;
}

function parse(hash: string): Route {
  const [path = "", tab] = hash.split("?");
  const [, at, id, turn, item] = path.split("/").map(decodeURIComponent);
  if (at === "t" && id)
    return { at: "thread", id, ...(turn && item && { row: `${turn}/${item}` }), ...(isTab(tab) && { tab }) };
  if (at === "new") return { at: "new" };
  if (at === "waiting") return { at: "waiting" };
  if (at === "documents") return id ? { at: "document", id } : { at: "documents" };
  if (at === "actions") return { at: "actions" };
  if (at === "changes") return { at: "changes", ...(id && { thread: id }) };
  if (at === "compare" && id) return { at: "compare", group: id };
  if (at === "terminal") return { at: "terminal", ...(id && { thread: id }) };
  if (at === "files") return { at: "files", path: id ?? "", ...(Number(turn) > 0 && { line: Number(turn) }) };
  if (at === "settings") return { at: "settings", section: id || "page" };
  return { at: "home" };
}

const isTab = (name = ""): name is SideTab => ["changes", "plan", "terminals", "agents"].includes(name);

export const links = {
  home: "#/",
  fresh: "#/new",
  waiting: "#/waiting",
  documents: "#/documents",
  document: (thread: string) => `#/documents/${encodeURIComponent(thread)}`,
  actions: "#/actions",
  changes: (thread = "") => (thread ? `#/changes/${encodeURIComponent(thread)}` : "#/changes"),
  compare: (group: string) => `#/compare/${encodeURIComponent(group)}`,
  terminal: (thread = "") => (thread ? `#/terminal/${encodeURIComponent(thread)}` : "#/terminal"),
  file: (path: string, line?: number) => `#/files/${encodeURIComponent(path)}${line ? `/${line}` : ""}`,
  thread: (id: string, row = "", tab: SideTab | null = null) =>
    `#/t/${encodeURIComponent(id)}${row && `/${row}`}${tab ? `?${tab}` : ""}`,
  settings: (section: string) => `#/settings/${section}`,
};

export function go(link: string) {
  if (location.hash !== link) location.hash = link;
}

function subscribe(listener: () => void) {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}

export const useRoute = () => useSyncExternalStore(subscribe, route);
