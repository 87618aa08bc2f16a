//! The outermost part of the page: the form that signs in, or the page with a client.
import type { Client } from "@bobbin/client";
import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import { ClientContext, makeClient } from "../server/context";
import { enter } from "../server/session";
import { Toasts, message } from "../ui/toast";
import { place } from "./place";
import { Shell } from "./Shell";
import { SignIn } from "./SignIn";

const Overview = lazy(() => import("../node/Overview"));

type Phase = { at: "entering" } | { at: "out"; why?: string } | { at: "in" };

// A code is good for one use, so it is exchanged once, however often the page is drawn.
const entered = enter();

export function App() {
  const [phase, setPhase] = useState<Phase>({ at: "entering" });

  useEffect(() => {
    entered.then(
      (isIn) => setPhase({ at: isIn ? "in" : "out" }),
      (error: unknown) => setPhase({ at: "out", why: message(error) }),
    );
  }, []);

  const out = useCallback((why: string) => {
    client = undefined;
    setPhase({ at: "out", why });
  }, []);

  return (
    <>
      {phase.at === "entering" && <p className="empty">Connecting…</p>}
      {phase.at === "out" && <SignIn why={phase.why} onIn={() => setPhase({ at: "in" })} />}
      {phase.at === "in" && place.at === "node" && (
        <Suspense fallback={<p className="empty">Loading…</p>}>
          <Overview onOut={out} />
        </Suspense>
      )}
      {phase.at === "in" && place.at !== "node" && (
        <ClientContext value={shared()}>
          <Shell onOut={out} />
        </ClientContext>
      )}
      <Toasts />
    </>
  );
}

let client: Client | undefined;
const shared = () => (client ??= makeClient());
