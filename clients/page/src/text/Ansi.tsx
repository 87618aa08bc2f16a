//! Output of a command, with the colours of its escape sequences. A line that overwrites itself is shown as it ended.
import Anser from "anser";
import { memo, useMemo } from "react";

/** Most characters of output on the page: the last ones. */
const MOST = 200_000;

export const Ansi = memo(function Ansi({ text }: { text: string }) {
  const spans = useMemo(() => parse(text), [text]);
  return (
    <>
      {text.length > MOST && (
        <span className="meta">
          [{(text.length - MOST).toLocaleString()} earlier characters are not shown]{"\n"}
        </span>
      )}
      {spans.map((span, index) => {
        const fg = rgb(span.fg, span.fg_truecolor);
        const bg = rgb(span.bg, span.bg_truecolor);
        const names = [...span.decorations, span.fg, span.bg && `${span.bg}-bg`].filter(Boolean).join(" ");
        // Programs choose these colours for dark terminals. Mixed with ink they are legible on paper.
        const style = {
          ...(fg && { color: `color-mix(in oklab, ${fg} 65%, var(--ink))` }),
          ...(bg && { background: bg }),
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

/** Returns a colour that an escape sequence names by red, green and blue, or by its number of 256. */
function rgb(name: string, parts: string): string | undefined {
  if (name === "ansi-truecolor") return `rgb(${parts})`;
  const at = Number(/^ansi-palette-(\d+)$/.exec(name)?.[1] ?? NaN) - 16;
  if (Number.isNaN(at)) return undefined;
  if (at >= 216) return `rgb(${Array(3).fill(8 + 10 * (at - 216))})`;
  return `rgb(${[Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6].map((step) => step && 55 + 40 * step)})`;
}

function parse(text: string) {
  const shown = overwritten(text.slice(-MOST));
  return Anser.ansiToJson(shown, { use_classes: true, remove_empty: true, json: true });
}

/** Returns each line as a terminal shows it after its carriage returns, without other control characters. */
export function overwritten(text: string): string {
  const lines = text.replace(/\r\n/g, "\n").split("\n");
  return lines
    .map((line) =>
      line.includes("\r") ? line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r/g, "") : line,
    )
    .join("\n")
    .replace(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences that move the cursor start with one
      /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b\[[0-9;?]*[A-LN-Za-ln-z]|\u001b[()][A-Z0-9]|[\u0000-\u0008\u000b-\u001a]/g,
      "",
    );
}
