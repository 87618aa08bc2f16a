//! Takes changes of files back, and makes them again if that was a mistake.
import { createContext, useCallback, useContext, useMemo, useState } from "react";
import { useClient, useHas, useMay } from "../server/context";
import { complain, say } from "../ui/toast";

export interface Discard {
  /** Takes back the changes of a file, or some of its lines. */
  discard: (patch: string) => void;
  /** Whether they were taken back here. */
  isGone: (patch: string) => boolean;
}

const DiscardContext = createContext<Discard | undefined>(undefined);
export const Discarding = DiscardContext.Provider;

/**
 * Returns nothing where the server cannot take changes back. `onChange` reads the changes again once files are others;
 * without it, those that were taken back are marked.
 */
export function useDiscard(thread: string | undefined, onChange?: () => void): Discard | undefined {
  const client = useClient();
  const mayDiscard = useMay("approver");
  const can = useHas("git") && mayDiscard;
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
  const apply = useCallback(
    async (patch: string, reverse: boolean) => {
      await client.request("git/apply", { ...(thread && { threadId: thread }), patch, reverse }, { timeoutMs: 0 });
      if (onChange) return onChange();
      setGone((now) => {
        const next = new Set(now);
        if (reverse) next.add(patch);
        else next.delete(patch);
        return next;
      });
    },
    [client, thread, onChange],
  );
  return useMemo(
    () =>
      can
        ? {
            isGone: (patch) => gone.has(patch),
            discard: (patch) => {
              apply(patch, true)
                .then(() => say("Discarded", { act: "Undo", run: () => void apply(patch, false).catch(complain) }))
                .catch(complain);
            },
          }
        : undefined,
    [can, gone, apply],
  );
}

/** `what` names the changes for those who do not see where the button is. */
export function DiscardButton({ patch, what }: { patch: string | undefined; what: string }) {
  const all = useContext(DiscardContext);
  if (!all || !patch) return null;
  if (all.isGone(patch)) return <span className="meta">discarded</span>;
  return (
    <button type="button" className="btn small plain" aria-label={`Discard ${what}`} onClick={() => all.discard(patch)}>
      Discard
    </button>
  );
}
