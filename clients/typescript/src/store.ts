/** A value that changes as a whole. Works with React's `useSyncExternalStore`. */
export class Store<Value> {
  readonly #listeners = new Set<() => void>();
  #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  /** Calls the listener after each change, until the returned function is called. */
  readonly subscribe = (listener: () => void): (() => void) => {
    // A listener that is given twice is called twice.
    const own = () => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  };

  /** Returns the value. It is the same object until the next change, and is never changed itself. */
  readonly getSnapshot = (): Value => this.#value;

  protected set(value: Value): void {
    this.#value = value;
    for (const listener of [...this.#listeners]) guarded(listener);
  }
}

/** Calls a function of the user, whose error must not disturb others. */
export function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    console.error(error);
  }
}

const FRAME_FALLBACK_MS = 250;

/**
 * Returns a function that has `flush` called soon, once for any number of calls: before the next frame where
 * there is a visible page, else at the end of the present task.
 */
export function batched(flush: () => void): () => void {
  let pending = false;
  const run = () => {
    if (!pending) return;
    pending = false;
    flush();
  };
  return () => {
    if (pending) return;
    pending = true;
    if (typeof requestAnimationFrame === "function" && typeof document === "object") {
      // Hidden pages have no frames.
      if (document.visibilityState === "visible") requestAnimationFrame(run);
      setTimeout(run, document.visibilityState === "visible" ? FRAME_FALLBACK_MS : 0);
    } else {
      setTimeout(run, 0);
    }
  };
}
