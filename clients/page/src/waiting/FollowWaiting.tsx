//! Subscribes to each Thread that runs or waits, so that the server sends its questions to this page.
import { useEffect, useRef } from "react";
import { useClient } from "../server/context";
import { needsAnswer, openThread, useAllThreads } from "../server/threads";

/** Most subscriptions at one time. Threads with an open question come first. */
const MOST = 50;

export function FollowWaiting() {
  const client = useClient();
  const threads = useAllThreads();
  const open = useRef(new Map<string, () => void>());

  useEffect(() => {
    const waits = threads.filter(needsAnswer);
    const works = threads.filter((thread) => thread.runtime?.running && !needsAnswer(thread));
    const followed = new Set([...waits, ...works].slice(0, MOST).map((thread) => thread.id));
    for (const id of followed) {
      if (open.current.has(id)) continue;
      const store = openThread(client, id);
      open.current.set(id, () => store.close());
    }
    for (const [id, close] of open.current) {
      if (followed.has(id)) continue;
      open.current.delete(id);
      close();
    }
  }, [client, threads]);

  useEffect(() => {
    const all = open.current;
    return () => {
      for (const close of all.values()) close();
      all.clear();
    };
  }, []);
  return null;
}
