//! Bytes in base64, as the wire has them.

/** Bytes that become text at once: arguments of a call are limited. */
const PIECE = 0x8000;

export function encoded(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(text);
}

export function decoded(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
}

/** Returns the bytes of a text that has one byte in each character. */
export const binary = (text: string) => Uint8Array.from(text, (sign) => sign.charCodeAt(0));
