//! Starts a Thread with a first message.
import type { ThreadConfiguration } from "@bobbin/client";
import { useMemo, useState } from "react";
import { go, links } from "../app/route";
import { Editor } from "../compose/Editor";
import { Options } from "../compose/Options";
import type { Attachment } from "../compose/attachments";
import { runs, toParts, typed } from "../compose/parts";
import { useSources } from "../compose/useSources";
import { identity, useClient, useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { Icon } from "../ui/Icon";
import { remember } from "../app/remember";
import { ChoosePolicy } from "./ChoosePolicy";
import { NoModel } from "./NoModel";

/** Longest time to make a worktree. */
const CREATION_MS = 180_000;

export function NewThread() {
  const client = useClient();
  const server = useServer();
  const all = useSources();
  // Commands that the server runs need a Thread.
  const sources = useMemo(() => ({ ...all, commands: all.commands.filter(({ name }) => !runs(name)) }), [all]);
  const [configuration, setConfiguration] = useState<ThreadConfiguration>({});
  const [round, setRound] = useState(0);
  const [apart, setApart] = useState(false);
  const { data } = useRequest(
    "welcome/suggestions",
    { identity, maxItems: 4 },
    server?.capabilities.extensions?.welcomeSuggestions === true,
  );

  async function send(text: string, attachments: readonly Attachment[]) {
    if (runs(text)) throw new Error("This command needs a Thread. Open one first.");
    const known = {
      commands: new Set(sources.commands.map(({ name }) => name)),
      skills: new Set(sources.skills.map(({ name }) => name)),
    };
    const input = toParts(text, attachments, known);
    const start = { identity, ...(Object.keys(configuration).length > 0 && { config: configuration }) };
    const { thread } = await (apart
      ? client.request("worktree/createAndStart", start, { timeoutMs: CREATION_MS })
      : client.request("thread/start", start));
    const command = attachments.length === 0 && typed(text);
    if (command) await client.request("thread/shellCommand", { threadId: thread.id, command });
    else await client.request("turn/start", { threadId: thread.id, input });
    go(links.thread(thread.id));
  }

  return (
    <main className="page fresh">
      <header className="bar only-narrow">
        <a className="btn plain icon" href={links.home} aria-label="Back to the Threads">
          <Icon name="back" />
        </a>
      </header>
      <div className="fresh-body">
        <h1>New Thread</h1>
        <NoModel />
        <ChoosePolicy />
        <Editor
          key={round}
          draftKey="new"
          label="Describe a task. @ adds files, / runs commands"
          sources={sources}
          running={false}
          onSend={send}
        >
          <Options configuration={configuration} onChange={setConfiguration} />
        </Editor>
        {server?.capabilities.gitWorktrees && (
          <label
            className="check"
            title="A second folder with the files of the repository. What you have not committed is copied."
          >
            <input type="checkbox" checked={apart} onChange={(event) => setApart(event.target.checked)} />
            In a worktree, on a branch of its own
          </label>
        )}
        {data && data.items.length > 0 && (
          <ul className="entries" aria-label="Suggestions">
            {data.items.map((item) => (
              <li key={item.prompt}>
                <button
                  type="button"
                  className="entry"
                  onClick={() => {
                    remember("draft.new", item.prompt);
                    setRound(round + 1);
                  }}
                >
                  <span className="grow">
                    {item.title}
                    <span className="meta"> {item.reason}</span>
                  </span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
    </main>
  );
}
