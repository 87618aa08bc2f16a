//! Open requests of extensions to this page: messages, questions, paths and windows. A request stays until the user
//! answers it or the extension withdraws it.
import type { Client, Handlers, HermesWindow, ServerRequests } from "@bobbin/client";
import { say } from "../ui/toast";

type Method =
  | "hermes/ui/showMessage"
  | "hermes/ui/showConfirm"
  | "hermes/ui/openFile"
  | "hermes/ui/openFiles"
  | "hermes/ui/saveFile"
  | "hermes/ui/selectDirectory";

export type Asked = {
  [M in Method]: {
    method: M;
    id: number;
    params: ServerRequests[M]["params"];
    answer: (result: ServerRequests[M]["result"]) => void;
  };
}[Method];

interface Screens {
  asked: readonly Asked[];
  windows: readonly HermesWindow[];
}

/** Most questions and windows at one time. The page refuses more. */
const MOST = 32;

let now: Screens = { asked: [], windows: [] };
let last = 0;
const listeners = new Set<() => void>();

function set(next: Partial<Screens>) {
  now = { ...now, ...next };
  for (const listener of listeners) listener();
}

export const screens = {
  subscribe: (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  getSnapshot: () => now,
};

function ask<M extends Method>(method: M) {
  return (params: ServerRequests[M]["params"], signal: AbortSignal) =>
    new Promise<ServerRequests[M]["result"]>((resolve, reject) => {
      if (now.asked.length >= MOST) return reject(new Error("Too many questions are shown."));
      const id = ++last;
      const remove = () => set({ asked: now.asked.filter((one) => one.id !== id) });
      const answer = (result: ServerRequests[M]["result"]) => {
        remove();
        resolve(result);
      };
      signal.addEventListener("abort", () => {
        remove();
        reject(new Error("It was withdrawn."));
        say("An extension has withdrawn what it asked.");
      });
      set({ asked: [...now.asked, { method, id, params, answer } as Asked] });
    });
}

/** Answers an extension's request. */
export const handlers: Handlers = {
  "hermes/ui/showMessage": ask("hermes/ui/showMessage"),
  "hermes/ui/showConfirm": ask("hermes/ui/showConfirm"),
  "hermes/ui/openFile": ask("hermes/ui/openFile"),
  "hermes/ui/openFiles": ask("hermes/ui/openFiles"),
  "hermes/ui/saveFile": ask("hermes/ui/saveFile"),
  "hermes/ui/selectDirectory": ask("hermes/ui/selectDirectory"),
  "hermes/ui/openWindow": (window) => {
    if (now.windows.length >= MOST) throw new Error("Too many windows are open.");
    set({ windows: [...now.windows, window] });
    return {};
  },
};

const without = (id: string) => set({ windows: now.windows.filter(({ windowId }) => windowId !== id) });

/** Removes a window that its extension closes, and all windows with the connection, as the server does. */
export function followScreens(client: Client) {
  client.on("hermes/ui/closeWindow", ({ windowId }) => without(windowId));
  client.subscribe(() => {
    if (client.getSnapshot().state !== "ready" && now.windows.length > 0) set({ windows: [] });
  });
}

export function closeWindow(client: Client, windowId: string) {
  without(windowId);
  client.notify("hermes/ui/windowClosed", { windowId });
}
