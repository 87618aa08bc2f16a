//! The text field of an open Thread: starts a Turn, adds to the queue, or sends to the running Turn.
import type { ThreadConfiguration, ThreadSnapshot } from "@bobbin/client";
import { useState } from "react";
import { go, links } from "../app/route";
import { useClient, useMay } from "../server/context";
import { Markdown } from "../text/Markdown";
import { Dialog } from "../ui/Dialog";
import { complain, say } from "../ui/toast";
import { Editor, type How } from "./Editor";
import { Options, sendable } from "./Options";
import type { Attachment } from "./attachments";
import { focusComposer } from "./focus";
import { runs, toParts, typed } from "./parts";
import { useSources } from "./useSources";

export function Composer({ snapshot }: { snapshot: ThreadSnapshot }) {
  const client = useClient();
  const isOwner = useMay("owner");
  const { id: threadId, thread } = snapshot;
  const sources = useSources(snapshot.turns, threadId);
  const [answer, setAnswer] = useState<{ text: string; markdown: boolean }>();
  const [changed, setChanged] = useState<ThreadConfiguration>();
  const configuration = changed ?? thread?.configuration ?? {};
  const running = thread?.runtime.running ?? false;

  async function send(text: string, attachments: readonly Attachment[], how: How) {
    const command = runs(text);
    if (command) return run(command);
    const line = attachments.length === 0 && typed(text);
    if (line) {
      if (running) throw new Error("Your command cannot run beside a Turn. Stop it, or wait for its end.");
      return void (await client.request("thread/shellCommand", { threadId, command: line }));
    }
    const known = {
      commands: new Set(sources.commands.map(({ name }) => name)),
      skills: new Set(sources.skills.map(({ name }) => name)),
    };
    const input = toParts(text, attachments, known);
    if (!running) return void (await client.request("turn/start", { threadId, input }));
    const { queuedInput } = await client.request("turn/enqueue", { threadId, input });
    const turn = snapshot.turns.at(-1);
    if (how === "now" && turn && queuedInput.status === "queued") {
      await client.request("turn/steer", { threadId, expectedTurnId: turn.id, queuedInputId: queuedInput.id });
    }
  }

  async function run(command: string) {
    const result = await client.request("command/execute", { threadId, command });
    if (result.thread) go(links.thread(result.thread.id));
    else if (result.isMarkdown || result.message?.includes("\n"))
      setAnswer({ text: result.message ?? "", markdown: result.isMarkdown });
    else if (result.message) say(result.message);
  }

  function configure(next: ThreadConfiguration) {
    setChanged(next);
    client.request("thread/config/update", { threadId, config: next }).catch((error: unknown) => {
      setChanged(undefined);
      complain(error);
    });
  }

  const closed =
    thread?.status === "archived"
      ? "This Thread is archived."
      : thread?.status === "paused"
        ? "This Thread is paused."
        : undefined;
  return (
    <>
      {thread?.runtime.waitingOnPlanConfirmation && !running && (
        <div className="note row wrap">
          <span className="grow">Plan ready. Nothing changes until you approve.</span>
          <button
            type="button"
            className="btn primary"
            onClick={() => {
              const config = sendable({ ...configuration, mode: "agent" }, isOwner);
              setChanged(config);
              focusComposer();
              client
                .request("thread/config/update", { threadId, config })
                .then(() =>
                  client.request("turn/start", { threadId, input: [{ type: "text", text: "Carry out the plan." }] }),
                )
                .catch(complain);
            }}
          >
            Approve and start
          </button>
        </div>
      )}
      <Editor
        draftKey={threadId}
        label={running ? "Queue a follow-up (Ctrl+Enter: send now)" : "Reply…"}
        sources={sources}
        running={running}
        disabled={closed}
        onSend={send}
        onStop={() => void client.request("turn/interrupt", { threadId, turnId: "" }).catch(complain)}
      >
        <Options configuration={configuration} onChange={configure} />
      </Editor>
      {closed && (
        <button
          type="button"
          className="btn"
          onClick={() =>
            void client
              .request(thread?.status === "archived" ? "thread/unarchive" : "thread/resume", { threadId })
              .catch(complain)
          }
        >
          {thread?.status === "archived" ? "Unarchive" : "Resume"}
        </button>
      )}
      {answer && (
        <Dialog title="Answer" onClose={() => setAnswer(undefined)}>
          {answer.markdown ? <Markdown text={answer.text} /> : <p>{answer.text}</p>}
        </Dialog>
      )}
    </>
  );
}
