//! Short messages at the edge of the page: a failure and its remedy.
import { useEffect, useRef, useSyncExternalStore } from "react";
import { Icon } from "./Icon";

interface Toast {
  id: number;
  text: string;
  bad: boolean;
  action?: Action;
}

/** A button beside a message. */
interface Action {
  /** The word on the button. */
  act: string;
  run: () => void;
}

const MOST = 4;
const SECONDS = 8;
/** Of messages that something can be done about. */
const LONG_SECONDS = 30;
let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]) {
  toasts = next;
  for (const listener of listeners) listener();
}

// A message about one place is wrong in the next.
addEventListener("hashchange", () => set([]));

export function say(text: string, action?: Action) {
  show({ text, bad: false, ...(action && { action }) });
}

function show(toast: Omit<Toast, "id">) {
  const id = ++last;
  set([...toasts.filter(({ text }) => text !== toast.text).slice(1 - MOST), { ...toast, id }]);
  const seconds = toast.bad || toast.action ? LONG_SECONDS : SECONDS;
  setTimeout(() => set(toasts.filter((other) => other.id !== id)), seconds * 1000);
}

/** Shows an error; for `promise.catch(complain)`. */
export function complain(error: unknown) {
  show({ text: message(error), bad: true });
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
          {toast.action && <ActionButton toast={toast} action={toast.action} />}
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

function ActionButton({ toast, action }: { toast: Toast; action: Action }) {
  const run = () => {
    set(toasts.filter((other) => other !== toast));
    action.run();
  };
  return (
    <button type="button" className="btn small" onClick={run}>
      {action.act}
    </button>
  );
}
