//! One row of a conversation.
import { memo, useState } from "react";
import { called, useMay } from "../server/context";
import { Markdown } from "../text/Markdown";
import { markedInLine } from "../text/marked";
import { useCalm } from "../text/useCalm";
import { Icon } from "../ui/Icon";
import { Elapsed } from "../ui/Elapsed";
import { duration, plural } from "../ui/format";
import type { Row } from "./rows";
import { ToolCard } from "./items/ToolCard";
import { TurnEnd } from "./items/TurnEnd";
import { UserMessage } from "./items/UserMessage";

export const RowView = memo(function RowView({ row, marked }: { row: Row; marked: boolean }) {
  return <div className={marked ? "found" : undefined}>{view(row)}</div>;
});

function view(row: Row) {
  switch (row.kind) {
    case "user":
      return <UserMessage item={row.item} turnId={row.turnId} />;
    case "agent":
      return <Answer text={row.text} streaming={row.streaming} />;
    case "reasoning":
      return <Reasoning row={row} />;
    case "tool":
      return <ToolCard tool={row.tool} turnId={row.turnId} />;
    case "looks":
      return <Looks row={row} />;
    case "approval":
      return <Asked row={row} />;
    case "notice":
      return <p className={row.bad ? "note bad" : "meta"}>{row.text}</p>;
    case "working":
      return (
        <p className="working">
          <span className="ring" />{" "}
          {row.waiting ? (
            <span role="status">{markedInLine(row.waiting)}</span>
          ) : (
            <span className="sr">Waiting for the model</span>
          )}{" "}
          <Elapsed since={row.since} />
        </p>
      );
    case "end":
      return <TurnEnd turn={row.turn} />;
  }
}

function Answer({ text, streaming }: { text: string; streaming: boolean }) {
  return <Markdown text={useCalm(text, streaming)} />;
}

function Reasoning({ row }: { row: Row & { kind: "reasoning" } }) {
  const [open, setOpen] = useState(false);
  const label = row.streaming ? "Thinking" : row.ms && row.ms >= 1000 ? `Thought for ${duration(row.ms)}` : "Thought";
  return (
    <div className="reasoning">
      <button type="button" className="line-button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="twist">
          <Icon name="chevron" />
        </span>
        <span>{label}</span>
        {row.streaming && <span className="ring" />}
        {!open && <span className="cut grow meta">{lastLine(row.text)}</span>}
      </button>
      {open && <Markdown text={row.text} />}
    </div>
  );
}

function Looks({ row }: { row: Row & { kind: "looks" } }) {
  const [open, setOpen] = useState(false);
  const reads = row.tools.filter(({ what }) => what.verb === "Read").length;
  const searches = row.tools.length - reads;
  const parts = [reads > 0 && plural(reads, "file"), searches > 0 && plural(searches, "search", "searches")];
  return (
    <div className="reasoning">
      <button type="button" className="line-button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="twist">
          <Icon name="chevron" />
        </span>
        <span className="verb">{reads > 0 ? "Read" : "Made"}</span>
        <span>{parts.filter(Boolean).join(", ")}</span>
        {!open && (
          <code className="cut grow meta">
            {markedInLine(row.tools.map(({ what }) => what.object.split("/").at(-1)).join(", "))}
          </code>
        )}
      </button>
      {open && row.tools.map((tool) => <ToolCard key={tool.callId} tool={tool} turnId={row.turnId} />)}
    </div>
  );
}

const lastLine = (text: string) =>
  text
    .trimEnd()
    .slice(-200)
    .split("\n")
    .at(-1)
    ?.replace(/[*`]+|^#+ /g, "") ?? "";

const decided: Record<string, string> = {
  accept: "allowed once",
  acceptForSession: "allowed in this Thread",
  acceptAlways: "always allowed",
  decline: "declined",
  cancel: "declined, Turn stopped",
};

function Asked({ row }: { row: Row & { kind: "approval" } }) {
  const { payload } = row.request;
  const isOwner = useMay("owner");
  const decision = row.decision && (decided[row.decision] ?? row.decision);
  const said = row.by ? `Asked: ${decision} by ${called(row.by)}` : `You were asked: ${decision}`;
  return (
    <p className="asked meta">
      <span className={row.decision ? "" : "waits"}>
        {decision ? said : isOwner ? "Needs your answer" : "Needs an answer"}
      </span>
      <code className="cut">
        {markedInLine(payload.approvalType === "shell" ? payload.operation : `${payload.operation} ${payload.target}`)}
      </code>
    </p>
  );
}
