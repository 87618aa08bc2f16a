//! One call of a tool: a line that opens its arguments, output and result.
import { lazy, memo, Suspense, useState } from "react";
import { links } from "../../app/route";
import { Ansi } from "../../text/Ansi";
import { CopyButton } from "../../text/CodeBlock";
import { marked, markedInLine } from "../../text/marked";
import { Output } from "../../text/Output";
import { Icon } from "../../ui/Icon";
import { Elapsed } from "../../ui/Elapsed";
import { duration } from "../../ui/format";
import type { ToolView } from "../rows";

const EditDiff = lazy(() => import("../../side/EditDiff"));

const words: Record<ToolView["status"], string> = {
  writing: "…",
  waiting: "needs approval",
  running: "running",
  done: "",
  failed: "failed",
  cancelled: "stopped",
  background: "in the background",
};

export const ToolCard = memo(function ToolCard({ tool, turnId }: { tool: ToolView; turnId: string }) {
  const [chosen, setOpen] = useState<boolean | null>(null);
  const live = tool.status === "running" && Boolean(tool.command?.aggregatedOutput);
  const open = chosen ?? (live || tool.status === "failed");
  const id = `${turnId}-${tool.callId}`;
  const { verb, object, edit } = tool.what;
  return (
    <div className={`tool is-${tool.status}`}>
      <button
        type="button"
        className="line-button"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        <span className="twist">
          <Icon name="chevron" />
        </span>
        <span className="verb">{verb}</span>
        <code className="cut grow">{markedInLine(object.split("\n")[0] ?? "")}</code>
        {edit && <Counts before={edit.before} after={edit.after} />}
        {tool.command?.exitCode ? <span className="meta num">exit {tool.command.exitCode}</span> : null}
        {words[tool.status] && <span className="status">{words[tool.status]}</span>}
        {(tool.status === "running" || tool.status === "writing") && <span className="ring" />}
        {tool.status === "running" && tool.startedAt && <Elapsed since={tool.startedAt} />}
        {tool.durationMs !== undefined && tool.durationMs >= 100 && (
          <span className="meta num">{duration(tool.durationMs)}</span>
        )}
      </button>
      {open && (
        <div className="tool-body" id={id}>
          <Body tool={tool} />
        </div>
      )}
    </div>
  );
});

function Counts({ before, after }: { before: string; after: string }) {
  const lines = (text: string) => (text ? text.replace(/\n$/, "").split("\n").length : 0);
  return (
    <span className="num meta">
      <span className="add">+{lines(after)}</span> <span className="del">−{lines(before)}</span>
    </span>
  );
}

function Body({ tool }: { tool: ToolView }) {
  if (tool.command) return <Command tool={tool} />;
  const { edit, patch, path } = tool.what;
  return (
    <>
      {path && (
        <p className="meta">
          <a href={links.file(path)}>Open the file</a>
        </p>
      )}
      {edit || patch ? (
        <Suspense fallback={<p className="meta">Loading the diff…</p>}>
          <EditDiff edit={edit} patch={patch} />
        </Suspense>
      ) : (
        <Arguments tool={tool} />
      )}
      {tool.images?.map((image, index) => (
        <img
          key={index}
          className="result-image"
          src={`data:${image.mediaType};base64,${image.dataBase64}`}
          alt={`Result ${index + 1} of ${tool.name}`}
        />
      ))}
      {tool.result && (
        <pre className="out" tabIndex={0} aria-label="Result">
          <Ansi text={tool.result} />
        </pre>
      )}
    </>
  );
}

export function Arguments({ tool }: { tool: ToolView }) {
  const given = tool.arguments && Object.entries(tool.arguments);
  if (!given?.length) return tool.argumentsText ? <pre className="out">{marked(tool.argumentsText)}</pre> : null;
  return (
    <dl className="arguments">
      {given.map(([name, value]) => (
        <div key={name}>
          <dt>{markedInLine(name)}</dt>
          <dd>{marked(typeof value === "string" ? value : JSON.stringify(value, null, 1))}</dd>
        </div>
      ))}
    </dl>
  );
}

function Command({ tool }: { tool: ToolView }) {
  const command = tool.command as NonNullable<ToolView["command"]>;
  return (
    <>
      <div className="command-line">
        <pre tabIndex={0} aria-label="Command">
          <span className="prompt">$ </span>
          {marked(command.command)}
        </pre>
        <CopyButton text={command.command} label="Copy the command" />
      </div>
      <Output text={command.aggregatedOutput ?? ""} empty={tool.status === "running" ? "no output yet" : "no output"} />
      <p className="meta tool-foot">
        {command.workingDirectory}
        {command.heldBy?.length ? ` · confined by ${command.heldBy.join(", ")}` : ""}
      </p>
    </>
  );
}
