//! Places in conversations that a search found.
import { useDeferredValue } from "react";
import { links } from "../app/route";
import { identity, useServer } from "../server/context";
import { useThreadList } from "../server/threads";
import { useRequest } from "../server/useRequest";
import { markedInLine, threadTitle } from "../text/marked";

export function Found({ query }: { query: string }) {
  const later = useDeferredValue(query);
  const server = useServer();
  const { threads } = useThreadList();
  const origins = [...new Set(threads.map((thread) => thread.originChannel))].slice(0, 50);
  const { data, error } = useRequest(
    "thread/search",
    { identity, query: later, limit: 15, itemTypes: ["userMessage", "agentMessage"], crossChannelOrigins: origins },
    server?.capabilities.threadSearch === true,
  );
  if (error) return <p className="note bad">{error}</p>;
  if (!data || !("complete" in data)) return null;
  return (
    <section aria-label="In conversations" aria-live="polite">
      <h2 className="day">In conversations</h2>
      {data.data.length === 0 && <p className="meta pad">Nothing found.</p>}
      <ul>
        {data.data.map((hit, index) => (
          <li key={index}>
            <a
              className="hit"
              href={links.thread(hit.threadId, hit.turnId && hit.itemId ? `${hit.turnId}/${hit.itemId}` : "")}
            >
              <span className="cut">{threadTitle(hit, "New Thread")}</span>
              <span className="meta snippet">{markedInLine(hit.snippet)}</span>
            </a>
          </li>
        ))}
      </ul>
      {!data.complete && <p className="meta pad">Older Items are not searched yet.</p>}
    </section>
  );
}
