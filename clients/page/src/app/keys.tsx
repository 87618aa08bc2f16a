//! Keys that work everywhere, and the list of all keys.
import { type ReactNode, useEffect, useState } from "react";
import { focusComposer, focusQuestion } from "../compose/focus";
import { Dialog } from "../ui/Dialog";
import { NODE, place } from "./place";
import { go, links } from "./route";

const keys: [string, string][] = [
  ["Enter", "send; while the agent works, put into the queue"],
  ["Ctrl+Enter", "while the agent works, send at once"],
  ["Shift+Enter", "a new line"],
  ["Esc", "in the text field: stop the Turn"],
  ["/", "commands and skills, at the start of a text"],
  ["@", "files of the workspace"],
  ["Alt+N", "a new Thread"],
  ["Alt+W", "what waits for you"],
  ["Y S N C", "in a question: allow once, in this Thread, decline, decline and stop"],
  ["Alt+O", "all workspaces, where a node serves several"],
  ["Alt+S", "search"],
  ["Alt+M", "to the text field"],
  ["Alt+↑ Alt+↓", "the previous Thread, the next one"],
  ["Shift+F6", "out of a terminal, which takes all other keys"],
  ["?", "this list"],
];

export function useKeys(): ReactNode {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const typing = target.matches("input, textarea, select");
      if (event.key === "?" && !typing) return setOpen(true);
      if (!event.altKey || event.ctrlKey || event.metaKey) return;
      const act = actions[event.code];
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    open && (
      <Dialog title="Keys" onClose={() => setOpen(false)}>
        <dl className="keys">
          {keys.map(([key, what]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
      </Dialog>
    )
  );
}

const actions: Record<string, () => void> = {
  KeyN: () => go(links.fresh),
  KeyW: () => {
    go(links.waiting);
    focusQuestion();
  },
  KeyO: () => {
    if (place.at === "workspace") location.assign(NODE);
  },
  KeyS: () => document.getElementById("search")?.focus(),
  KeyM: focusComposer,
  ArrowUp: () => step(-1),
  ArrowDown: () => step(1),
};

function step(by: number) {
  const rows = [...document.querySelectorAll<HTMLAnchorElement>("a.thread-row")];
  const at = rows.findIndex((row) => row.getAttribute("aria-current") === "page");
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
  next?.click();
  next?.scrollIntoView({ block: "nearest" });
}
