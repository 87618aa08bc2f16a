//! The outermost part of the page: the form that signs in, or the page with a client.
import type { Client } from "@bobbin/client";
import { useEffect, useState } from "react";
import { ClientContext, makeClient } from "../server/context";
import { enter } from "../server/session";
import { Toasts, message } from "../ui/toast";
import { Shell } from "./Shell";
import { SignIn } from "./SignIn";

type Phase = { at: "entering" } | { at: "out"; why?: string } | { at: "in"; client: Client };

// A code is good for one use, so it is exchanged once, however often the page is drawn.
const entered = enter();

export function App() {
  const [phase, setPhase] = useState<Phase>({ at: "entering" });

  useEffect(() => {
    entered.then(
      (isIn) => setPhase(isIn ? { at: "in", client: shared() } : { at: "out" }),
      (error: unknown) => setPhase({ at: "out", why: message(error) }),
    );
  }, []);

  return (
    <>
      {phase.at === "entering" && <p className="empty">Connecting…</p>}
      {phase.at === "out" && <SignIn why={phase.why} onIn={() => setPhase({ at: "in", client: shared() })} />}
      {phase.at === "in" && (
        <ClientContext value={phase.client}>
          <Shell
            onOut={(why) => {
              client = undefined;
              setPhase({ at: "out", why });
            }}
          />
        </ClientContext>
      )}
      <Toasts />
    </>
  );
}

let client: Client | undefined;
const shared = () => (client ??= makeClient());
