//! The judgement of the rules on a command, part by part. `policy/explain` runs nothing.
import { useServer } from "../server/context";
import { useRequest } from "../server/useRequest";
import { marked, markedInLine } from "../text/marked";

const outcomes: Record<string, string> = {
  runs: "It would run without a question.",
  asks: "You are asked.",
  answered: "You have allowed it before.",
  autoApproved: "It would run: the policy of this Thread is Never ask.",
  runsSandboxed: "It would run, because the sandbox confines it.",
  interrupts: "The Turn would stop.",
  refused: "It is refused.",
};

export function Explain({ command, threadId }: { command: string; threadId?: string }) {
  const can = useServer()?.capabilities.policyExplain === true;
  const { data, error } = useRequest("policy/explain", { command, ...(threadId && { threadId }) }, can);
  if (!can) return <p className="meta">This server does not explain its rules.</p>;
  if (error) return <p className="note bad">{error}</p>;
  if (!data) return <p className="meta">Asking…</p>;
  return (
    <div className="explain">
      <p>
        {outcomes[data.outcome] ?? data.outcome} {sentence(markedInLine(data.reason))}
      </p>
      {data.rule && (
        <p className="meta">
          Rule <code>{markedInLine(data.rule.text)}</code> of {data.rule.source}
        </p>
      )}
      <ul>
        {data.commands.map((part, index) => (
          <li key={index}>
            <span className={`judgement is-${part.judgement}`}>{part.judgement}</span>{" "}
            <code>{marked(part.command)}</code>
            <span className="meta"> {markedInLine(part.reason)}</span>
          </li>
        ))}
        {data.concerns.map((concern) => (
          <li key={concern} className="meta">
            {markedInLine(concern)}
          </li>
        ))}
      </ul>
    </div>
  );
}

const sentence = (text: string) =>
  text ? `${text[0]?.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}` : "";
