//! Puts files of the user into the folder, one after the other.
import type { Requests } from "@bobbin/client";

/** Most bytes of a file that the server takes. */
const MAX_BYTES = 2 << 20;

type Write = Requests["workspace/files/write"];
export type Put = (params: Write["params"]) => Promise<Write["result"]>;

/** Writes new files into a directory. Returns the path of the last one; those before one that fails stay. */
export async function put(write: Put, directory: string, files: readonly File[]): Promise<string | undefined> {
  let last: string | undefined;
  for (const file of files) {
    if (file.size > MAX_BYTES) throw new Error(`${file.name} is larger than 2 MiB.`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    const path = directory ? `${directory}/${file.name}` : file.name;
    last = (await write({ path, data: base64(bytes) })).path;
  }
  return last;
}

/** Returns bytes in base64, piece by piece: one call takes some ten thousand arguments. */
function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}
