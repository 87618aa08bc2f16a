//! Short messages at the edge of the page: a failure and its remedy.
import { useEffect, useRef, useSyncExternalStore } from "react";
import { Icon } from "./Icon";

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}

const MOST = 4;
const SECONDS = 8;
const BAD_SECONDS = 30;
let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]) {
  toasts = next;
  for (const listener of listeners) listener();
}

// A message about one place is wrong in the next.
addEventListener("hashchange", () => set([]));

export function say(text: string, bad = false) {
  const id = ++last;
  set([...toasts.filter((toast) => toast.text !== text).slice(1 - MOST), { id, text, bad }]);
  setTimeout(() => set(toasts.filter((toast) => toast.id !== id)), (bad ? BAD_SECONDS : SECONDS) * 1000);
}

/** Shows an error; for `promise.catch(complain)`. */
export function complain(error: unknown) {
  say(message(error), true);
}

export function message(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const detail = (error as { data?: { detail?: unknown } }).data?.detail;
  return typeof detail === "string" ? detail : error.message;
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Puts the messages over a dialog that was opened later.
    box.current?.hidePopover();
    if (shown.length > 0) box.current?.showPopover();
  }, [shown]);
  return (
    <div className="toasts" ref={box} popover="manual" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div key={toast.id} className={toast.bad ? "toast bad" : "toast"}>
          <p>{toast.text}</p>
          <button
            type="button"
            className="btn plain icon"
            aria-label="Dismiss"
            onClick={() => set(toasts.filter((other) => other !== toast))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
