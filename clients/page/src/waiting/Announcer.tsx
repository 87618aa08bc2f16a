//! Signals for a user who looks elsewhere: a mark in the title, and the browser's notifications.
import type { ApprovalRequestParams, ThreadSummary } from "@bobbin/client";
import { useEffect, useRef } from "react";
import { place } from "../app/place";
import { recall } from "../app/remember";
import { go, links, useRoute } from "../app/route";
import { useClient, useQuestions } from "../server/context";
import { useThreadList, workspaceName } from "../server/threads";
import { marked, threadTitle } from "../text/marked";
import { complain } from "../ui/toast";
import { forgetOutcome, learnOutcome } from "./outcomes";

/** Threads whose last outcome the page reads at its start. */
const ASKED = 20;

export function Announcer() {
  const client = useClient();
  const { threads, phase } = useThreadList();
  const questions = useQuestions();
  const route = useRoute();
  const running = useRef(new Set<string>());
  const known = useRef(new Set<string>());
  const started = useRef(false);

  useEffect(() => {
    const waiting = questions.length > 0 ? `(${questions.length}) ` : "";
    const works = threads.some((thread) => thread.runtime?.running) ? "… " : "";
    const open =
      route.at === "thread" &&
      threadTitle(
        threads.find(({ id }) => id === route.id),
        "",
      );
    document.title =
      (waiting || works) +
      [open, place.at === "workspace" ? place.name : workspaceName(threads)].filter(Boolean).join(" – ");
  }, [questions, threads, route]);

  useEffect(() => {
    for (const question of questions) {
      if (known.current.has(question.requestId)) continue;
      known.current.add(question.requestId);
      const text =
        question.kind === "approval" ? about(question.params) : (question.params.questions[0]?.question ?? "");
      notifyOf(question.kind === "approval" ? "Approval needed" : "The agent asks", text, question.threadId);
    }
  }, [questions]);

  useEffect(() => {
    if (phase !== "live") return;
    if (!started.current) {
      started.current = true;
      for (const thread of threads.filter((one) => !one.runtime?.running && one.turnCount > 0).slice(0, ASKED))
        learnOutcome(client, thread.id).catch(() => {});
    }
    for (const thread of threads) {
      const works = Boolean(thread.runtime?.running);
      if (works && !running.current.has(thread.id)) {
        running.current.add(thread.id);
        forgetOutcome(thread.id);
      } else if (!works && running.current.delete(thread.id)) {
        learnOutcome(client, thread.id).then((outcome) => outcome && ended(thread, outcome), complain);
      }
    }
  }, [client, threads, phase]);
  return null;
}

const about = ({ approvalType, operation, target }: ApprovalRequestParams) =>
  approvalType === "shell" ? operation : `${operation} ${target}`;

function ended(thread: ThreadSummary, outcome: string) {
  if (outcome !== "cancelled")
    notifyOf(outcome === "failed" ? "A Turn has failed" : "The agent is done", thread.displayName ?? "", thread.id);
}

const notifyOf = (title: string, body: string, threadId: string) =>
  notify(title, body, threadId, () => go(links.thread(threadId)));

/** Shows a notification of the browser to a user who looks elsewhere and wants them. A click calls `open`. */
export function notify(title: string, body: string, tag: string, open: () => void) {
  if (document.visibilityState === "visible" && document.hasFocus()) return;
  if (recall("notify") !== "on" || !("Notification" in window) || Notification.permission !== "granted") return;
  const note = new Notification(title, { body: marked(body).slice(0, 200), tag });
  note.onclick = () => {
    window.focus();
    open();
    note.close();
  };
}
