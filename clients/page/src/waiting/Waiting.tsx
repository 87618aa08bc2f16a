//! All open approvals and questions, of all Threads.
import type { Question } from "@bobbin/client";
import { useEffect } from "react";
import { links } from "../app/route";
import { focusQuestion, useFocusAfter } from "../compose/focus";
import { useQuestions } from "../server/context";
import { useAllThreads, useThreadList } from "../server/threads";
import { threadTitle } from "../text/marked";
import { Icon } from "../ui/Icon";
import { NotifySwitch } from "./NotifySwitch";
import { QuestionCard } from "./QuestionCard";

export function Waiting() {
  const questions = useQuestions();
  const { threads } = useThreadList();
  const all = useAllThreads();
  useFocusAfter(questions.length);
  useEffect(() => void focusQuestion(), []);
  const plans = threads.filter((thread) => thread.runtime?.waitingOnPlanConfirmation && !thread.runtime.running);
  return (
    <main className="page">
      <header className="bar">
        <a className="btn plain icon only-narrow" href={links.home} aria-label="Back to the Threads">
          <Icon name="back" />
        </a>
        <h1 className="grow">Needs attention</h1>
        <NotifySwitch />
      </header>
      <div className="page-body" aria-live="polite">
        {questions.length === 0 && plans.length === 0 && <p className="empty">Nothing needs your attention.</p>}
        {byThread(questions).map(([threadId, asked]) => (
          <section key={threadId} className="waiting-thread">
            <h2 className="cut">
              <a href={links.thread(threadId)}>
                {threadTitle(
                  all.find((thread) => thread.id === threadId),
                  "Thread",
                )}
              </a>
            </h2>
            {asked.map((question) => (
              <QuestionCard key={question.requestId} question={question} />
            ))}
          </section>
        ))}
        {plans.map((thread) => (
          <p key={thread.id} className="note">
            <a href={links.thread(thread.id)}>{threadTitle(thread, "Thread")}</a> has a plan to review.
          </p>
        ))}
      </div>
    </main>
  );
}

function byThread(questions: readonly Question[]): [string, Question[]][] {
  const threads = new Map<string, Question[]>();
  for (const question of questions)
    threads.set(question.threadId, [...(threads.get(question.threadId) ?? []), question]);
  return [...threads];
}
