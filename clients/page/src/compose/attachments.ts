//! Pasted, dropped and chosen files. A text goes into the message, and a picture becomes a part of it.
import { ofWorkspace } from "../app/place";
import type { InputPart } from "@bobbin/client";
import { useCallback, useState } from "react";

/** A picture or a file beside the text of an input. */
export interface Attachment {
  id: number;
  name: string;
  part: InputPart;
  /** A thumbnail. */
  preview?: string;
}

const MAX_TEXT = 256 * 1024;
/** Formats that every model accepts. Others are converted. */
const KINDS = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** Longest side of a picture in pixels. Models see no more of it. */
const MAX_SIDE = 2000;
const MAX_BYTES = 700_000;
/** Most bytes of all pictures of one input, since a message to the server has at most 4 MiB. */
const MAX_TOGETHER = 3_500_000;

let last = 0;

/** Reads a file. Throws an error with a sentence for the user if that fails. */
export async function attach(file: File): Promise<Attachment> {
  const name = file.name || "pasted";
  if (file.type.startsWith("image/") && file.type !== "image/svg+xml") return picture(file, name);
  const other = "Put it into the workspace and name it with @.";
  if (file.size > MAX_TEXT) throw new Error(`${name} is larger than 256 KB. ${other}`);
  const text = await file.text();
  if (text.includes("\u0000")) throw new Error(`${name} is no text. ${other}`);
  return { id: ++last, name, part: { type: "text", text: `\n\n${fenced(name, text)}` } };
}

/** Returns the picture of an input that the user took back. The server has its bytes. */
export function stored(part: InputPart & { type: "localImage" }): Attachment {
  return { id: ++last, name: part.fileName ?? part.path, part };
}

async function picture(file: File, name: string): Promise<Attachment> {
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`${name} is no picture that this browser can read.`);
  });
  const { width, height } = bitmap;
  const fits = KINDS.has(file.type) && file.size <= MAX_BYTES && Math.max(width, height) <= MAX_SIDE;
  const blob = fits ? file : await drawn(bitmap, name);
  bitmap.close();
  const url = await dataUrl(blob);
  return { id: ++last, name, part: { type: "image", url, fileName: name }, preview: url };
}

/** Converts a picture to sides and a format that models accept. */
async function drawn(bitmap: ImageBitmap, name: string): Promise<Blob> {
  for (const side of [MAX_SIDE, 1400, 1000]) {
    const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
    const canvas = new OffscreenCanvas(
      Math.max(1, Math.round(bitmap.width * scale)),
      Math.max(1, Math.round(bitmap.height * scale)),
    );
    canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    // Letters of a screenshot stay sharp in a PNG, if that is small enough.
    for (const kind of ["image/png", "image/jpeg"]) {
      const blob = await canvas.convertToBlob({ type: kind, quality: 0.85 });
      if (blob.size <= MAX_BYTES) return blob;
    }
  }
  throw new Error(`${name} is too large. Put it into the workspace and name it with @.`);
}

function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(new Error("The file cannot be read."));
    reader.readAsDataURL(blob);
  });
}

/** Throws if the pictures do not fit into one message to the server. */
export function checkTogether(files: readonly Attachment[]) {
  const bytes = files.reduce((sum, { part }) => sum + (part.type === "image" ? part.url.length : 0), 0);
  if (bytes > MAX_TOGETHER) throw new Error("These are too many pictures for one message. Send them in two.");
}

/** Returns a file's text as a fenced block that fences in the text do not end. */
function fenced(name: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `File \`${name.replaceAll("`", "'")}\`:\n${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

/** The files of drafts. The tab's storage has them too, as far as there is room, for a reload. */
const ofDrafts = new Map<string, readonly Attachment[]>();

const name = (key: string) => `bobbin.files.${ofWorkspace(key)}`;

function filesOf(key: string): readonly Attachment[] {
  const known = ofDrafts.get(key);
  if (known) return known;
  try {
    const read = JSON.parse(sessionStorage.getItem(name(key)) ?? "[]") as Attachment[];
    const files = read.map((file) => ({ ...file, id: ++last }));
    if (files.length > 0) ofDrafts.set(key, files);
    return files;
  } catch {
    return [];
  }
}

function store(key: string, files: readonly Attachment[]) {
  if (files.length > 0) ofDrafts.set(key, files);
  else ofDrafts.delete(key);
  try {
    sessionStorage.removeItem(name(key));
    if (files.length > 0) sessionStorage.setItem(name(key), JSON.stringify(files));
  } catch {
    // There is no room: a reload loses them.
  }
}

export function attachToDraft(key: string, files: readonly Attachment[]) {
  if (files.length > 0) store(key, [...filesOf(key), ...files]);
}

export function useAttachments(
  key: string,
): [readonly Attachment[], (change: (now: readonly Attachment[]) => readonly Attachment[]) => void] {
  const [files, setFiles] = useState(() => filesOf(key));
  const set = useCallback(
    (change: (now: readonly Attachment[]) => readonly Attachment[]) => {
      // Stores at once: after sending, the field may disappear before the next drawing.
      const next = change(filesOf(key));
      store(key, next);
      setFiles(next);
    },
    [key],
  );
  return [files, set];
}
