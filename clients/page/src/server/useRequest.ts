//! The answer of a request that reads. `again` sends the request once more.
import type { Requests } from "@bobbin/client";
import { useCallback, useEffect, useState } from "react";
import { message } from "../ui/toast";
import { useClient } from "./context";

interface Answer<Result> {
  data?: Result;
  error?: string;
  again: () => void;
}

export function useRequest<M extends keyof Requests>(
  method: M,
  params: Requests[M]["params"],
  wanted = true,
  /** Another value sends the request once more. */
  version?: unknown,
): Answer<Requests[M]["result"]> {
  const client = useClient();
  const [answer, setAnswer] = useState<{ data?: Requests[M]["result"]; error?: string }>({});
  const [round, setRound] = useState(0);
  const key = JSON.stringify(params);
  useEffect(() => {
    if (!wanted) return;
    const stop = new AbortController();
    const call = client.request as (
      method: M,
      params: Requests[M]["params"],
      options: { signal: AbortSignal },
    ) => Promise<Requests[M]["result"]>;
    call.call(client, method, JSON.parse(key) as Requests[M]["params"], { signal: stop.signal }).then(
      (data) => setAnswer({ data }),
      (error: unknown) => !stop.signal.aborted && setAnswer({ error: message(error) }),
    );
    return () => stop.abort();
    // `round` and `version` send the request again.
  }, [client, method, key, wanted, round, version]);
  return { ...answer, again: useCallback(() => setRound((now) => now + 1), []) };
}
