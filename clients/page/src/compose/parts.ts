//! A written text as the parts of an input: commands, skills and files are references.
import type { InputPart } from "@bobbin/client";

export interface Attachment {
  id: number;
  name: string;
  text: string;
}

/** Commands that the server runs itself; all others are prompts. */
const RUN = new Set(["/new", "/help", "/stop", "/compact"]);

/** Returns a command that is run and not sent as a prompt. */
export function runs(text: string): string | null {
  const name = text.trim().split(/\s/)[0] ?? "";
  return RUN.has(name) ? text.trim() : null;
}

export function toParts(text: string, attachments: readonly Attachment[], known: { commands: ReadonlySet<string>; skills: ReadonlySet<string> }): InputPart[] {
  const files = attachments.map((file): InputPart => ({ type: "text", text: `\n\n${fenced(file.name, file.text)}` }));
  const command = /^\s*(\/[^\s]+)(?:\s+([\s\S]*))?$/.exec(text);
  if (command && known.commands.has(command[1] as string)) {
    const argsText = command[2]?.trim();
    return [{ type: "commandRef", name: (command[1] as string).slice(1), rawText: text.trim(), ...(argsText && { argsText }) }, ...files];
  }
  const parts: InputPart[] = [];
  let rest = 0;
  for (const match of text.matchAll(/(?<=^|\s)(?:@(?<file>[^\s@]*[^\s@.,;:!?)])|\$(?<skill>[\w.-]+))/g)) {
    const { file, skill } = match.groups ?? {};
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

/** Returns a file's text as a block of code that its own fences do not end. */
function fenced(name: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `File \`${name.replaceAll("`", "'")}\`:\n${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}
