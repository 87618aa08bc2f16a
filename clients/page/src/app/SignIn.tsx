//! The form with which an unknown browser signs in.
import { type FormEvent, useEffect, useState } from "react";
import { exchange, NAMED_ANEW, takeCode } from "../server/session";
import { message } from "../ui/toast";

export function SignIn({ why, onIn }: { why?: string; onIn: () => void }) {
  const [code, setCode] = useState("");
  const [error, setError] = useState(why);

  // Opening an address with a code in this tab changes the fragment alone.
  useEffect(() => {
    const onHash = () => {
      const given = takeCode();
      if (given) use(given);
    };
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  });

  function use(given: string) {
    exchange(given).then(onIn, (error: unknown) => setError(message(error)));
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    use(code);
  }

  return (
    <main className="sign-in">
      <h1>Bobbin</h1>
      <p>This browser needs a one-time code. In the workspace, on the machine where the server runs:</p>
      <pre className="note">bobbin open</pre>
      <p>It opens this page, or prints the address with a code.</p>
      {/* Another program may answer at this name by now: a code that is typed here would be given to it. */}
      {!NAMED_ANEW && (
        <form onSubmit={submit}>
          <label className="stack">
            Code
            <input
              className="field mono"
              value={code}
              onChange={(event) => setCode(event.target.value)}
              autoComplete="off"
              spellCheck={false}
            />
          </label>
          <button type="submit" className="btn primary" disabled={!code.trim()}>
            Connect
          </button>
        </form>
      )}
      <div role="alert">{error && <p className="note bad">{error}</p>}</div>
    </main>
  );
}
