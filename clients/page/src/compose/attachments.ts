//! Pasted and dropped files: pictures are made small enough to send, texts go into the message.
import type { Attachment } from "./parts";

const MAX_TEXT = 256 * 1024;
/** Longer sides of pictures than models look at. */
const MAX_SIDE = 1568;
const MAX_PICTURE = 1_200_000;
let last = 0;

/** Reads a file. Throws a sentence for the user where that is not possible. */
export async function attach(file: File): Promise<Attachment> {
  const name = file.name || "pasted";
  if (file.type.startsWith("image/") && file.type !== "image/svg+xml") return { id: ++last, name, picture: await picture(file) };
  if (file.size > MAX_TEXT) throw new Error(`${name} is larger than 256 KB. Put it into the workspace and name it with @.`);
  const text = await file.text();
  if (text.includes("\u0000")) throw new Error(`${name} is no text. Put it into the workspace and name it with @.`);
  return { id: ++last, name, text };
}

async function picture(file: File): Promise<string> {
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`${file.name} is no picture that this browser can read.`);
  });
  const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  for (const [type, quality] of [["image/png", 1], ["image/jpeg", 0.85], ["image/jpeg", 0.5]] as const) {
    const url = canvas.toDataURL(type, quality);
    if (url.length < MAX_PICTURE) return url;
  }
  throw new Error(`${file.name} is too large.`);
}
