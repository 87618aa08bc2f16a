//! A message of the user, with its pictures and references.
import type { InputPart, UserMessageItem } from "@bobbin/client";
import { useState } from "react";
import { Markdown } from "../../text/Markdown";
import { called, useMay } from "../../server/context";
import { useActions } from "../../server/threads";
import { Picture } from "./Picture";
import { fullTime, shortTime } from "../../ui/format";

const delivered: Record<string, string> = { queued: "from the queue", guidance: "while the agent worked" };

// The server names every connection that continues another one's Thread `cli`.
const OWN = new Set(["web", "cli"]);

/** Returns whether a text is cut until the user asks for all of it. A pasted file is rarely read again. */
const isLong = (text: string) => text.length > 3000 || text.split("\n").length > 30;

export function UserMessage({ item, turnId }: { item: UserMessageItem; turnId: string }) {
  const { edit } = useActions();
  const mayPrompt = useMay("author");
  const { payload } = item;
  const [all, setAll] = useState(false);
  const parts: InputPart[] = payload.nativeInputParts ?? [{ type: "text", text: payload.text }];
  const text = parts.map(written).join("");
  const pictures = parts.filter((part) => part.type === "localImage");
  const how = [
    payload.deliveryMode && delivered[payload.deliveryMode],
    payload.actor ? `by ${called(payload.actor)}` : payload.senderName,
    payload.triggerLabel ?? payload.triggerKind,
    payload.channelName && !OWN.has(payload.channelName) && `by ${payload.channelName}`,
  ];
  return (
    <section className="user" aria-label="You">
      {text.trim() && (
        <div className={isLong(text) && !all ? "user-cut" : undefined}>
          <Markdown text={text} breaks />
        </div>
      )}
      {isLong(text) && (
        <button type="button" className="btn plain small" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show less" : "Show all"}
        </button>
      )}
      {pictures.length > 0 && (
        <div className="pictures">
          {pictures.map((part) => (
            <Picture key={part.path} path={part.path} name={part.fileName ?? part.path} />
          ))}
        </div>
      )}
      <p className="meta">
        {how.filter(Boolean).join(" · ")}{" "}
        {mayPrompt && text.trim() && payload.deliveryMode !== "guidance" && (
          <button
            type="button"
            className="btn plain small on-hover"
            title="A new Thread with the conversation before this, and this text to change"
            onClick={() => edit(turnId, parts)}
          >
            Edit
          </button>
        )}{" "}
        <time dateTime={item.createdAt} title={fullTime(item.createdAt)}>
          {shortTime(item.createdAt)}
        </time>
      </p>
    </section>
  );
}

function written(part: InputPart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "commandRef":
      return `\`/${part.name}\`${part.argsText ? ` ${part.argsText}` : ""}`;
    case "skillRef":
      return `\`$${part.name}\` `;
    case "fileRef":
      return `\`@${part.displayPath ?? part.path}\``;
    case "image":
      return `[picture](${part.url})`;
    case "localImage":
      return "";
  }
}
