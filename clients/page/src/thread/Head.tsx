//! The head of a Thread: its title, the used share of the context window, and a menu.
import type { ThreadSnapshot } from "@bobbin/client";
import { useState } from "react";
import { go, links, type SideTab } from "../app/route";
import { useClient, useHas, useMay } from "../server/context";
import { useActions } from "../server/threads";
import { WorktreeDialog } from "../git/WorktreeDialog";
import { markedInLine, threadTitle } from "../text/marked";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { complain } from "../ui/toast";
import type { Format } from "./exported";
import { Usage } from "./Usage";
import { ConfirmDelete, RenameDialog } from "./ThreadDialogs";

interface Props {
  snapshot: ThreadSnapshot;
  tab: SideTab | null;
  onTab: (tab: SideTab | null) => void;
}

export function Head({ snapshot, tab, onTab }: Props) {
  const client = useClient();
  const hasHermes = useHas("hermesUi");
  const hasShells = useHas("shells");
  const [mayPrompt, mayApprove, isOwner] = [useMay("author"), useMay("approver"), useMay("owner")];
  const [dialog, setDialog] = useState<"rename" | "delete" | "worktree" | null>(null);
  const { id, thread } = snapshot;
  const title = threadTitle(thread, thread ? "New Thread" : "Thread");
  const actions = useActions();
  const ended = snapshot.turns.findLast((turn) => turn.completedAt);
  const worktree = thread?.worktree;
  const archived = thread?.status === "archived";
  const save = (format: Format) =>
    void import("./exported").then(({ exportThread }) => exportThread(client, id, format)).catch(complain);
  const parent = thread?.source.kind === "subagent" ? thread.source.subAgent : undefined;
  return (
    <header className="bar">
      <a className="btn plain icon only-narrow" href={links.home} aria-label="Back to the Threads">
        <Icon name="back" />
      </a>
      <h1 className="cut grow" dir="auto" title={title}>
        {parent && (
          <a className="meta" href={links.thread(parent.parentThreadId)}>
            parent ›{" "}
          </a>
        )}
        {title}
      </h1>
      {(snapshot.phase === "loading" || snapshot.phase === "stale") && <span className="meta">catching up…</span>}
      {archived && <span className="meta">archived</span>}
      {worktree && (
        <a className="meta cut only-wide" href={links.changes(id)} title="Changes in the worktree">
          {markedInLine(worktree.branchName)}
        </a>
      )}
      <Usage snapshot={snapshot} />
      <button
        type="button"
        className="btn plain icon"
        aria-label="Changes, plan, terminals, agents"
        title="Changes, plan, terminals, agents"
        aria-pressed={tab !== null}
        onClick={() => onTab(tab ? null : "changes")}
      >
        <Icon name="panel" />
      </button>
      <Menu
        label="More"
        entries={[
          ...(mayPrompt ? [{ label: "Rename…", run: () => setDialog("rename") }] : []),
          ...(mayApprove && worktree ? [{ label: "Worktree…", run: () => setDialog("worktree") }] : []),
          ...(isOwner && hasShells && worktree ? [{ label: "Terminal", run: () => go(links.terminal(id)) }] : []),
          ...(hasHermes ? [{ label: "HL7 document", run: () => go(links.document(id)) }] : []),
          ...(mayPrompt
            ? [{ label: "Fork", disabled: ended === undefined, run: () => ended && actions.fork(ended.id) }]
            : []),
          { label: "Export as Markdown", run: () => save("md") },
          { label: "Export as JSON", run: () => save("jsonl") },
          ...((archived ? mayPrompt : mayApprove)
            ? [
                {
                  label: archived ? "Unarchive" : "Archive",
                  disabled: parent !== undefined,
                  run: () =>
                    void client
                      .request(archived ? "thread/unarchive" : "thread/archive", { threadId: id })
                      .catch(complain),
                },
              ]
            : []),
          ...(isOwner
            ? [{ label: "Delete…", danger: true, disabled: parent !== undefined, run: () => setDialog("delete") }]
            : []),
        ]}
      >
        <Icon name="more" />
      </Menu>
      {dialog === "worktree" && <WorktreeDialog threadId={id} onClose={() => setDialog(null)} />}
      {dialog === "rename" && (
        <RenameDialog threadId={id} title={thread?.displayName ?? ""} onClose={() => setDialog(null)} />
      )}
      {dialog === "delete" && (
        <ConfirmDelete
          threadId={id}
          title={title}
          onClose={() => setDialog(null)}
          onDone={() => {
            setDialog(null);
            go(links.home);
          }}
        />
      )}
    </header>
  );
}
