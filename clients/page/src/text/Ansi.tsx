//! Output of a command: colours of its escape sequences, and lines that overwrite themselves shown as they ended.
import Anser from "anser";
import { memo, useMemo } from "react";

/** Characters of output that are shown at once, the last ones. */
const MOST = 200_000;

export const Ansi = memo(function Ansi({ text }: { text: string }) {
  const spans = useMemo(() => parse(text), [text]);
  return (
    <>
      {text.length > MOST && <span className="meta">[{(text.length - MOST).toLocaleString()} earlier characters are not shown]{"\n"}</span>}
      {spans.map((span, index) => {
        const names = [...span.decorations, span.fg, span.bg && `${span.bg}-bg`].filter(Boolean).join(" ");
        const style = {
          ...(span.fg === "ansi-truecolor" && { color: `rgb(${span.fg_truecolor})` }),
          ...(span.bg === "ansi-truecolor" && { background: `rgb(${span.bg_truecolor})` }),
        };
        return names ? (
          <span key={index} className={names} style={style}>
            {span.content}
          </span>
        ) : (
          span.content
        );
      })}
    </>
  );
});

function parse(text: string) {
  const shown = overwritten(text.slice(-MOST));
  return Anser.ansiToJson(shown, { use_classes: true, remove_empty: true, json: true });
}

/** Returns the text with each line as a terminal shows it after its carriage returns, without other controls. */
export function overwritten(text: string): string {
  const lines = text.replace(/\r\n/g, "\n").split("\n");
  return lines
    .map((line) => (line.includes("\r") ? line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r/g, "") : line))
    .join("\n")
    .replace(/\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b\[[0-9;?]*[A-LN-Za-ln-z]|\u001b[()][A-Z0-9]|[\u0000-\u0008\u000b-\u001a]/g, "");
}
