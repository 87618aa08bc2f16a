//! All Threads, the number of open questions, and the search.
import type { ThreadSummary } from "@bobbin/client";
import { useMemo, useState, useSyncExternalStore } from "react";
import { useRemembered } from "../app/remember";
import { place } from "../app/place";
import { links, useRoute } from "../app/route";
import { useRepository } from "../git/status";
import { useHas, useMay, useQuestions } from "../server/context";
import { Switcher } from "../node/Switcher";
import { needsAnswer, useAllThreads, useThreadList, workspaceName } from "../server/threads";
import { useRequest } from "../server/useRequest";
import { markedInLine } from "../text/marked";
import { dayOf } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Found } from "./Found";
import { ThreadRow } from "./ThreadRow";

type Filter = "all" | "open" | "archived";
const filters: Record<Filter, { label: string; takes: (thread: ThreadSummary) => boolean }> = {
  all: { label: "Threads", takes: (thread) => thread.status !== "archived" },
  open: {
    label: "Running",
    takes: (thread) =>
      Boolean(thread.runtime?.running || needsAnswer(thread) || thread.runtime?.waitingOnPlanConfirmation),
  },
  archived: { label: "Archived", takes: (thread) => thread.status === "archived" },
};

/** Rows before the user asks for more, and titles in the results of a search. */
const PAGE = 150;
const TITLES = 20;

export function Sidebar() {
  const { threads, phase, error } = useThreadList();
  const questions = useQuestions();
  const waiting =
    questions.length + threads.filter(({ runtime }) => runtime?.waitingOnPlanConfirmation && !runtime.running).length;
  const all = useAllThreads();
  const route = useRoute();
  const hasHermes = useHas("hermesUi");
  const hasFiles = useHas("workspaceFiles");
  const hasShells = useHas("shells");
  const [mayPrompt, isOwner] = [useMay("author"), useMay("owner")];
  const { status: git } = useRepository();
  const { data: fineCode } = useRequest("finecode/project/list", {}, useHas("finecode"));
  const hasFineCode = fineCode?.projects.some(({ status }) => status !== "noConfig");
  // On a narrow screen, the page shows nothing but the list.
  const alone = useNarrow() && route.at === "home";
  const Brand = alone ? "h1" : "span";
  const [chosen, setFilter] = useRemembered("filter", "all");
  const filter: Filter = chosen in filters ? (chosen as Filter) : "all";
  const [query, setQuery] = useState("");
  const [more, setMore] = useState(0);
  const most = more || (query.trim() ? TITLES : PAGE);

  const shown = useMemo(() => {
    const words = query.trim().toLowerCase();
    return threads.filter(
      (thread) => filters[filter].takes(thread) && (!words || (thread.displayName ?? "").toLowerCase().includes(words)),
    );
  }, [threads, filter, query]);

  // A Thread waits for an answer to its own question, or to a subagent's.
  const waits = useMemo(() => {
    const ids = new Set(questions.map(({ threadId }) => threadId));
    const parents = new Map(
      all.map(({ id, source }) => [id, source.kind === "subagent" ? source.subAgent?.parentThreadId : undefined]),
    );
    for (const thread of all) if (needsAnswer(thread)) ids.add(thread.id);
    for (const id of ids) {
      const parent = parents.get(id);
      if (parent) ids.add(parent);
    }
    return ids;
  }, [questions, all]);

  return (
    <div className="sidebar" role={alone ? "main" : "navigation"} aria-label="Threads">
      <div className="sidebar-head">
        <Brand className="brand">
          <a href={links.home}>Bobbin</a>{" "}
          {place.at === "workspace" ? (
            <Switcher name={place.name} />
          ) : (
            threads[0] && (
              <span className="meta cut" title={threads[0].workspacePath}>
                {workspaceName(threads)}
              </span>
            )
          )}
        </Brand>
        <span className="grow" />
        <a className="btn plain icon" href={links.settings("page")} aria-label="Settings" title="Settings">
          <Icon name="gear" />
        </a>
        {mayPrompt && (
          <a className="btn plain icon" href={links.fresh} aria-label="New Thread" title="New Thread (Alt+N)">
            <Icon name="plus" />
          </a>
        )}
      </div>
      <div className="sidebar-search">
        <input
          id="search"
          type="search"
          className="field"
          placeholder="Search"
          aria-label="Search Threads"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
      </div>
      <a
        className={waiting ? "waiting-link has" : "waiting-link"}
        href={links.waiting}
        aria-current={route.at === "waiting" ? "page" : undefined}
      >
        <span className="grow">Needs attention</span>
        {waiting > 0 ? (
          <span className="badge">{waiting}</span>
        ) : (
          phase === "live" && <span className="meta">nothing</span>
        )}
      </a>
      {hasFiles && (
        <a className="waiting-link" href={links.file("")} aria-current={route.at === "files" ? "page" : undefined}>
          Files
        </a>
      )}
      {git?.repository && (
        <a
          className="waiting-link"
          href={links.changes()}
          aria-current={route.at === "changes" && !route.thread ? "page" : undefined}
        >
          <span className="grow">Changes</span>
          <span className="meta cut">{markedInLine(git.branch ?? git.head?.slice(0, 9) ?? "")}</span>
          {git.files.length > 0 && <span className="meta num">{git.files.length}</span>}
        </a>
      )}
      {hasShells && isOwner && (
        <a
          className="waiting-link"
          href={links.terminal()}
          aria-current={route.at === "terminal" && !route.thread ? "page" : undefined}
        >
          Terminal
        </a>
      )}
      {hasHermes && (
        <a
          className="waiting-link"
          href={links.documents}
          aria-current={route.at === "documents" || route.at === "document" ? "page" : undefined}
        >
          HL7 documents
        </a>
      )}
      {hasFineCode && isOwner && (
        <a className="waiting-link" href={links.actions} aria-current={route.at === "actions" ? "page" : undefined}>
          FineCode
        </a>
      )}
      <div className="tabs" role="group" aria-label="Which Threads">
        {Object.entries(filters).map(([name, { label }]) => (
          <button key={name} type="button" aria-pressed={filter === name} onClick={() => setFilter(name)}>
            {label}
          </button>
        ))}
      </div>
      <div className="sidebar-list">
        {error && <p className="note bad">{error}</p>}
        {shown.length === 0 && !error && (
          <p className="empty">
            {phase === "loading"
              ? "Loading…"
              : query
                ? "No thread has this in its title."
                : filter === "all"
                  ? "No threads yet. Describe a task to start."
                  : filter === "open"
                    ? "No thread is running."
                    : "No archived threads."}
          </p>
        )}
        {groups(shown.slice(0, most)).map(([day, group]) => (
          <section key={day} aria-label={day}>
            <h2 className="day">{day}</h2>
            <ul>
              {group.map((thread) => (
                <li key={thread.id}>
                  <ThreadRow
                    thread={thread}
                    waits={waits.has(thread.id)}
                    current={route.at === "thread" && route.id === thread.id}
                  />
                </li>
              ))}
            </ul>
          </section>
        ))}
        {shown.length > most && (
          <button type="button" className="btn plain" onClick={() => setMore(most + 500)}>
            Show more ({shown.length - most})
          </button>
        )}
        {query.trim().length >= 3 && <Found query={query.trim()} />}
      </div>
    </div>
  );
}

const narrow = matchMedia("(max-width: 760px)");

function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrow.addEventListener("change", listener);
      return () => narrow.removeEventListener("change", listener);
    },
    () => narrow.matches,
  );
}

function groups(threads: ThreadSummary[]): [string, ThreadSummary[]][] {
  const days = new Map<string, ThreadSummary[]>();
  for (const thread of threads) {
    const day = dayOf(thread.lastActiveAt);
    days.set(day, [...(days.get(day) ?? []), thread]);
  }
  return [...days];
}
