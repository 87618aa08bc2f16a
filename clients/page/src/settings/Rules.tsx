//! The rules in force, the stored permissions, and a test of a command against both.
import { type FormEvent, useState } from "react";
import { useClient, useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { marked, markedInLine } from "../text/marked";
import { complain } from "../ui/toast";
import { Explain } from "../waiting/Explain";

export function Rules() {
  const client = useClient();
  const can = useServer()?.capabilities.approvalRules === true;
  const { data, error, again } = useRequest("approval/rules/list", {}, can);
  const [command, setCommand] = useState("");
  const [asked, setAsked] = useState("");
  if (!can) return <p className="empty">This server has no such methods.</p>;

  const forget = (ids?: string[]) => client.request("approval/rules/remove", ids ? { ids } : {}).then(again, complain);
  function submit(event: FormEvent) {
    event.preventDefault();
    setAsked(command);
  }

  return (
    <div className="stack-list">
      {error && <p className="note bad">{error}</p>}
      <section>
        <h3>Always allowed</h3>
        {data?.answers.length === 0 && <p className="meta">None. “Always allow” puts one here.</p>}
        <ul className="entries">
          {data?.answers.map((answer) => (
            <li key={answer.id} className="entry">
              <div className="grow">
                <code>
                  {marked(answer.approvalType === "shell" ? answer.operation : `${answer.operation} ${answer.target}`)}
                </code>
                <p className="meta">
                  {[
                    answer.approvalType === "shell" && `in ${markedInLine(answer.target)}`,
                    ...(answer.conditions ?? []),
                  ]
                    .filter(Boolean)
                    .join(" · ")}
                </p>
              </div>
              <button
                type="button"
                className="btn small"
                aria-label={`Remove: ${answer.operation}`}
                onClick={() => void forget([answer.id])}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
        {(data?.answers.length ?? 0) > 1 && (
          <button type="button" className="btn plain danger" onClick={() => void forget()}>
            Remove all
          </button>
        )}
      </section>
      <section>
        <h3>Rules</h3>
        <p className="meta">
          They are in <code>~/.craft/config.json</code> and <code>.craft/config.json</code>; a server reads them at its
          start.
        </p>
        <ul className="entries">
          {data?.rules.map((rule) => (
            <li key={rule.source + rule.text} className="entry">
              <div className="grow">
                <code>{markedInLine(rule.text)}</code>
                <p className="meta">
                  {[rule.reason && markedInLine(rule.reason), rule.source].filter(Boolean).join(" · ")}
                </p>
              </div>
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h3>What would happen to a command</h3>
        <form className="row" onSubmit={submit}>
          <input
            className="field mono"
            aria-label="Command"
            placeholder="cargo publish --dry-run"
            value={command}
            onChange={(event) => setCommand(event.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
          <button type="submit" className="btn" disabled={!command.trim()}>
            Explain
          </button>
        </form>
        {asked && <Explain command={asked} />}
      </section>
    </div>
  );
}
