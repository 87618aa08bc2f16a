//! Pasted and dropped files: their text goes into the message.
import type { Attachment } from "./parts";

const MAX_TEXT = 256 * 1024;
let last = 0;

/** Reads a file. Throws a sentence for the user where that is not possible. */
export async function attach(file: File): Promise<Attachment> {
  const name = file.name || "pasted";
  const other = "Put it into the workspace and name it with @.";
  // The wire has no part for the bytes of a picture; the agent can look at one of the workspace.
  if (file.type.startsWith("image/") && file.type !== "image/svg+xml") throw new Error(`The server takes no pictures from browsers. ${other}`);
  if (file.size > MAX_TEXT) throw new Error(`${name} is larger than 256 KB. ${other}`);
  const text = await file.text();
  if (text.includes("\u0000")) throw new Error(`${name} is no text. ${other}`);
  return { id: ++last, name, text };
}
