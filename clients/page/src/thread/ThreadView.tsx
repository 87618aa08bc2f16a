//! An open Thread: its head, the conversation, open questions, the queue and the text field.
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { InputPart, QueuedTurnInput } from "@bobbin/client";
import { go, links, type SideTab } from "../app/route";
import { attachToDraft, stored } from "../compose/attachments";
import { Composer } from "../compose/Composer";
import { useFocusAfter } from "../compose/focus";
import { written } from "../compose/parts";
import { Queue } from "../compose/Queue";
import { addToDraft } from "../compose/useDraft";
import { useClient, useMay } from "../server/context";
import { ActionsContext, type ThreadActions, useThread } from "../server/threads";
import { complain, say } from "../ui/toast";
import { QuestionCard } from "../waiting/QuestionCard";
import { Head } from "./Head";
import { ReadOnly } from "./ReadOnly";
import { PlanStrip } from "./PlanStrip";
import { isAt, rowsOf } from "./rows";
import { Timeline } from "./Timeline";
import { UndoDialog } from "./UndoDialog";

const Side = lazy(() => import("../side/Side"));

const pictures = (parts: readonly InputPart[]) =>
  parts.flatMap((part) => (part.type === "localImage" ? [stored(part)] : []));

export function ThreadView({ id, row, tab }: { id: string; row?: string; tab: SideTab | null }) {
  const client = useClient();
  const mayPrompt = useMay("author");
  const mayAnswer = useMay("approver");
  const isOwner = useMay("owner");
  const open = useThread(id);
  const snapshot = open?.snapshot;
  const store = open?.store;
  // The address names the tab, so that Back closes it on a phone, where it covers the conversation.
  const setTab = useCallback((next: SideTab | null) => go(links.thread(id, row, next)), [id, row]);
  const [turnId, setTurnId] = useState<string>();
  const [undo, setUndo] = useState<string>();

  // The actions stay the same while the conversation grows, so that its rows are not drawn again.
  const now = useRef(snapshot);
  now.current = snapshot;
  const [round, setRound] = useState(0);
  const write = useCallback(
    (text: string) => {
      addToDraft(id, text);
      setRound((now) => now + 1);
    },
    [id],
  );
  // An input that the user takes back goes to the end of the draft.
  const takeBack = ({ displayText, nativeInputParts }: QueuedTurnInput) => {
    attachToDraft(id, pictures(nativeInputParts ?? []));
    write(nativeInputParts ? nativeInputParts.map(written).join("").trim() : displayText);
  };

  const rows = useMemo(() => rowsOf(snapshot?.turns ?? []), [snapshot?.turns]);
  const loadOlder = useCallback(() => void store?.loadOlder().catch(complain), [store]);
  const actions = useMemo<ThreadActions>(
    () => ({
      threadId: id,
      showChanges: (turn) => {
        setTurnId(turn);
        setTab("changes");
      },
      askUndo: setUndo,
      write,
      fork: (turnId) => {
        client
          .request("thread/fork", { threadId: id, turnId })
          .then(({ thread }) => go(links.thread(thread.id)), complain);
      },
      edit: (turnId, parts) => {
        const { turns = [], hasOlderTurns } = now.current ?? {};
        const at = turns.findIndex((turn) => turn.id === turnId);
        const before = turns[at - 1];
        const open = (draft: string, link: string) => {
          attachToDraft(draft, pictures(parts));
          addToDraft(draft, parts.map(written).join("").trim());
          go(link);
        };
        if (!before && hasOlderTurns) return say("Scroll up first: what was before this message is not loaded.");
        if (!before) return open("new", links.fresh);
        client
          .request("thread/fork", { threadId: id, turnId: before.id })
          .then(({ thread }) => open(thread.id, links.thread(thread.id)), complain);
      },
      again: ({ items }) => {
        const asked = items.find((item) => item.type === "userMessage")?.payload;
        if (asked)
          client
            .request("turn/start", {
              threadId: id,
              input: asked.nativeInputParts ?? [{ type: "text", text: asked.text }],
            })
            .catch(complain);
      },
    }),
    [client, id, setTab, write],
  );
  useFocusAfter(snapshot?.questions.length ?? 0);
  const wanted = row !== undefined && snapshot?.hasOlderTurns === true && !rows.some((one) => isAt(one, row));
  useEffect(() => {
    if (wanted) loadOlder();
  }, [wanted, loadOlder, rows]);

  if (!snapshot || !store || (snapshot.phase === "loading" && !snapshot.thread))
    return (
      <main className="page">
        <p className="empty">Loading…</p>
      </main>
    );
  if (snapshot.phase === "gone") {
    return (
      <main className="page">
        <p className="empty">
          There is no such Thread: it was deleted, or is in another workspace.{" "}
          <a href={links.home}>To the other Threads</a>
        </p>
      </main>
    );
  }
  const running = snapshot.thread?.runtime.running ?? false;
  const undone = snapshot.turns.find((turn) => turn.id === undo);
  return (
    <ActionsContext value={actions}>
      <main className={tab ? "thread has-side" : "thread"}>
        <Head snapshot={snapshot} tab={tab} onTab={setTab} />
        <div className="thread-main">
          {snapshot.phase === "failed" && (
            <p className="note bad inset">{snapshot.error} Reload the page to read it again.</p>
          )}
          {rows.length === 0 ? (
            <p className="empty grow">{snapshot.phase === "live" && "Nothing was said here yet."}</p>
          ) : (
            !wanted && (
              <Timeline
                rows={rows}
                running={running}
                hasOlder={snapshot.hasOlderTurns}
                loadOlder={loadOlder}
                target={row}
              />
            )
          )}
          <p className="sr" role="status">
            {running ? "The agent works." : "The agent is done."}
          </p>
          <div className="thread-foot">
            {snapshot.questions.length > 0 && (
              <div className="asks" aria-live="assertive">
                {snapshot.questions.map((question) => (
                  <QuestionCard key={question.requestId} question={question} />
                ))}
              </div>
            )}
            {!isOwner && snapshot.thread?.runtime.waitingOnApproval && snapshot.questions.length === 0 && (
              <p className="note">Waits for the answer of {mayAnswer ? "an owner" : "an approver"}.</p>
            )}
            <PlanStrip
              threadId={id}
              plan={snapshot.thread?.plan ?? undefined}
              running={running}
              subagents={snapshot.subagents}
              onOpen={setTab}
            />
            <Queue snapshot={snapshot} onTakenBack={takeBack} />
            {mayPrompt ? <Composer key={round} snapshot={snapshot} /> : <ReadOnly />}
          </div>
        </div>
        {tab && (
          <Suspense
            fallback={
              <aside className="side">
                <p className="empty">Loading…</p>
              </aside>
            }
          >
            <Side snapshot={snapshot} tab={tab} onTab={setTab} turnId={turnId} onTurn={setTurnId} />
          </Suspense>
        )}
      </main>
      {undone && <UndoDialog turn={undone} threadId={id} onClose={() => setUndo(undefined)} />}
    </ActionsContext>
  );
}
