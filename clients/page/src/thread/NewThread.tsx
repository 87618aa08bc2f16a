//! Starts a Thread with a first message.
import type { ThreadConfiguration } from "@bobbin/client";
import { useMemo, useState } from "react";
import { go, links } from "../app/route";
import { CREATION_MS, MOST, startAttempts } from "../compare/attempts";
import { Editor } from "../compose/Editor";
import { Options } from "../compose/Options";
import type { Attachment } from "../compose/attachments";
import { runs, toParts, typed } from "../compose/parts";
import { useSources } from "../compose/useSources";
import { identity, useClient, useMay, useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { Icon } from "../ui/Icon";
import { remember } from "../app/remember";
import { ChoosePolicy } from "./ChoosePolicy";
import { NoModel } from "./NoModel";
import { ReadOnly } from "./ReadOnly";

export function NewThread() {
  const mayPrompt = useMay("author");
  return mayPrompt ? <Fresh /> : <Closed />;
}

/** The same place for a viewer. */
function Closed() {
  return (
    <main className="page fresh">
      <header className="bar only-narrow">
        <a className="btn plain icon" href={links.home} aria-label="Back to the Threads">
          <Icon name="back" />
        </a>
      </header>
      <div className="fresh-body">
        <h1>Threads</h1>
        <ReadOnly />
      </div>
    </main>
  );
}

function Fresh() {
  const client = useClient();
  const server = useServer();
  const all = useSources();
  // Commands that the server runs need a Thread.
  const sources = useMemo(() => ({ ...all, commands: all.commands.filter(({ name }) => !runs(name)) }), [all]);
  const [configuration, setConfiguration] = useState<ThreadConfiguration>({});
  const [round, setRound] = useState(0);
  const [apart, setApart] = useState(false);
  /** The options of further attempts at the same task. */
  const [others, setOthers] = useState<readonly ThreadConfiguration[]>([]);
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
    if (others.length > 0)
      return go(links.compare(await startAttempts(client, text, input, [configuration, ...others])));
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
          <>
            {others.map((other, index) => (
              <div key={index} className="row wrap" role="group" aria-label={`Attempt ${index + 2}`}>
                <Options configuration={other} onChange={(next) => setOthers(others.with(index, next))} />
                <button
                  type="button"
                  className="btn plain icon"
                  aria-label={`Remove attempt ${index + 2}`}
                  onClick={() => setOthers(others.toSpliced(index, 1))}
                >
                  <Icon name="close" />
                </button>
              </div>
            ))}
            <div className="row wrap">
              <label
                className="check grow"
                title="A second folder with the files of the repository. What you have not committed is copied."
              >
                <input
                  type="checkbox"
                  checked={apart || others.length > 0}
                  disabled={others.length > 0}
                  onChange={(event) => setApart(event.target.checked)}
                />
                {others.length > 0
                  ? "Each in a worktree, on a branch of its own"
                  : "In a worktree, on a branch of its own"}
              </label>
              {others.length + 1 < MOST && (
                <button type="button" className="link" onClick={() => setOthers([...others, configuration])}>
                  Compare with another model…
                </button>
              )}
            </div>
          </>
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
