//! The draft of a place's value, and the conflict when another client changes the place meanwhile.
import { ConnectionError } from "@bobbin/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useClient } from "../server/context";
import { message } from "../ui/toast";
import { parse, rowsOf, samePlace } from "./message";
import { type Live, reasonOf } from "./useDocument";

export interface Draft {
  path: string;
  /** The place's value when the user started to write. */
  initial: string;
  text: string;
  /** The place's present value, if another client has changed it. */
  conflict?: string;
  error?: string;
  busy?: boolean;
}

export interface Writing {
  draft: Draft | undefined;
  write: (path: string, initial: string, text: string) => void;
  /** Stores the draft. Returns whether nothing is left to store. */
  commit: () => Promise<boolean>;
  /** Makes the next `commit` overwrite the other client's value. */
  insist: () => void;
  drop: () => void;
}

/** Attempts while other clients change other places. */
const ATTEMPTS = 5;

export function useWriting(threadId: string, live: Live): Writing {
  const client = useClient();
  const [draft, setDraft] = useState<Draft>();
  const now = useRef<Draft | undefined>(undefined);
  const set = useCallback((next: Draft | undefined) => {
    now.current = next;
    setDraft(next);
  }, []);
  useEffect(() => set(undefined), [set, threadId]);

  const commit = useCallback(async () => {
    const mine = now.current;
    if (!mine || mine.text === mine.initial) {
      set(undefined);
      return true;
    }
    if (mine.busy) return false;
    set({ ...mine, busy: true });
    const fail = (error: string) => set({ ...mine, error, busy: false });
    let seen = live.open && { text: live.open.text, version: live.open.status.version };
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        seen ??= await client.request("hermes/document/get", { threadId });
        const value = valueAt(seen.text, mine.path);
        if (value === mine.text) break;
        if (value !== mine.initial) {
          set({ ...mine, conflict: value, error: undefined, busy: false });
          return false;
        }
        const patches = [{ path: mine.path, value: mine.text }];
        const { errors } = await live.own(
          seen.version + 1,
          client.request("hermes/document/patch", { threadId, version: seen.version, patches }),
        );
        if (!errors?.length) break;
        fail(errors[0]?.message ?? "It was not made.");
        return false;
      } catch (error) {
        // The version is old, or the answer was lost and the change may be made: read again.
        const again = reasonOf(error) === "conflict" || (error instanceof ConnectionError && error.uncertain);
        seen = undefined;
        if (!again || attempt === ATTEMPTS - 1) {
          fail(message(error));
          return false;
        }
      }
    }
    set(undefined);
    return true;
  }, [client, threadId, live, set]);

  return {
    draft,
    commit,
    write: useCallback(
      (path, initial, text) =>
        set({ ...(now.current?.path === path ? now.current : { path, initial }), text, error: undefined }),
      [set],
    ),
    insist: useCallback(
      () =>
        now.current &&
        set({ ...now.current, initial: now.current.conflict ?? now.current.initial, conflict: undefined }),
      [set],
    ),
    drop: useCallback(() => set(undefined), [set]),
  };
}

const NOTHING: ReadonlySet<string> = new Set();

/** Returns the value of a place, and an empty text if it does not exist. */
function valueAt(text: string, path: string): string {
  const parsed = parse(text);
  const row = parsed && rowsOf(parsed, NOTHING, () => []).find(({ key }) => samePlace(key, path));
  return row?.kind === "place" ? row.value : "";
}
