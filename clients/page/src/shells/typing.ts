//! The bytes that go to a shell: those of its user, and answers of the terminal to a program.

/** Most bytes of a request. */
const MOST_TYPED = 48 << 10;
/** Most bytes that wait to be sent. */
const MOST_UNSENT = 4 << 20;

/** Texts of the terminal itself, after their escape: answers to questions in the output, and that it has the focus. */
const ANSWER = /^(\[[?>]?[\d;]*(\$y|[cnRIO])|[P\]].*)$/s;

export const isAnswer = (data: string) => data.startsWith("\u001b") && ANSWER.test(data.slice(1));

/** Returns how many of the last `length` bytes before `position` were drawn before, where all up to `drawn` were. */
export function shownBefore(length: number, position: number, drawn: number): number {
  return Math.min(Math.max(length - (position - drawn), 0), length);
}

export interface Typed {
  bytes: Uint8Array;
  answer: boolean;
}

/** Returns a function that sends bytes in order, one request at a time. A request has answers of the terminal or none. */
export function sender(
  send: (typed: Typed) => Promise<unknown>,
  fail: (error: unknown) => void,
): (bytes: Uint8Array, answer: boolean) => void {
  let unsent: Typed[] = [];
  let isSending = false;
  async function flush() {
    isSending = true;
    try {
      for (let next = unsent[0]; next; next = unsent[0]) {
        const part = next.bytes.subarray(0, MOST_TYPED);
        next.bytes = next.bytes.subarray(part.length);
        if (next.bytes.length === 0) unsent.shift();
        await send({ bytes: part, answer: next.answer });
      }
    } catch (error) {
      unsent = [];
      fail(error);
    }
    isSending = false;
  }
  return (bytes, answer) => {
    const waiting = unsent.reduce((sum, typed) => sum + typed.bytes.length, 0);
    if (waiting + bytes.length > MOST_UNSENT) return fail(new Error("This is too much to type at once."));
    const last = unsent.at(-1);
    if (last?.answer === answer) {
      const all = new Uint8Array(last.bytes.length + bytes.length);
      all.set(last.bytes);
      all.set(bytes, last.bytes.length);
      last.bytes = all;
    } else {
      unsent.push({ bytes, answer });
    }
    if (!isSending) void flush();
  };
}
