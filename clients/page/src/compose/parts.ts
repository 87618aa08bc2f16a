//! Makes the parts of an input of a text. Commands, skills and files become references.
import type { InputPart } from "@bobbin/client";
import { type Attachment, checkTogether } from "./attachments";

/** Commands that the server runs. All others are prompts. */
const RUN = new Set(["/new", "/help", "/stop", "/compact"]);

/** Returns the text if it is a command that the server runs, and null if it is a prompt. */
export function runs(text: string): string | null {
  const name = text.trim().split(/\s/)[0] ?? "";
  return RUN.has(name) ? text.trim() : null;
}

export function toParts(
  text: string,
  attachments: readonly Attachment[],
  known: { commands: ReadonlySet<string>; skills: ReadonlySet<string> },
): InputPart[] {
  checkTogether(attachments);
  const files = attachments.map(({ part }) => part);
  const command = /^\s*(\/[^\s]+)(?:\s+([\s\S]*))?$/.exec(text);
  if (command && known.commands.has(command[1] as string)) {
    const argsText = command[2]?.trim();
    return [
      {
        type: "commandRef",
        name: (command[1] as string).slice(1),
        rawText: text.trim(),
        ...(argsText && { argsText }),
      },
      ...files,
    ];
  }
  const parts: InputPart[] = [];
  let rest = 0;
  for (const match of text.matchAll(
    /(?<=^|\s)(?:@"(?<quoted>[^"\n]+)"|@(?<plain>[^\s@"]*[^\s@.,;:!?)"])|\$(?<skill>[\w.-]+))/g,
  )) {
    const { quoted, plain, skill } = match.groups ?? {};
    const file = quoted ?? plain;
    if (skill && !known.skills.has(skill)) continue;
    if (file && !/[./]/.test(file)) continue;
    push(parts, text.slice(rest, match.index));
    parts.push(file ? { type: "fileRef", path: file, displayPath: file } : { type: "skillRef", name: skill as string });
    rest = match.index + match[0].length;
  }
  push(parts, text.slice(rest));
  return [...parts, ...files];
}

function push(parts: InputPart[], text: string) {
  if (text) parts.push({ type: "text", text });
}

/** Returns the text that the user typed for a part, and an empty one for a picture. */
export function written(part: InputPart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "commandRef":
      return part.rawText ?? `/${part.name}${part.argsText ? ` ${part.argsText}` : ""}`;
    case "skillRef":
      return `$${part.name}`;
    case "fileRef":
      return /\s/.test(part.path) ? `@"${part.path}"` : `@${part.path}`;
    default:
      return "";
  }
}

/** Returns the command line that a text asks for: `!` and the line, which the user runs and no model. */
export function typed(text: string): string | undefined {
  const line = text.trim();
  return (line.startsWith("!") && line.slice(1).trim()) || undefined;
}
