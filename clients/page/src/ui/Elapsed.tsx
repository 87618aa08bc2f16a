//! The seconds since something started, shown after the first few.
import { useEffect, useState } from "react";
import { duration } from "./format";

const SHOWN_FROM_MS = 3000;

export function Elapsed({ since }: { since: string }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const ms = now - Date.parse(since);
  return ms >= SHOWN_FROM_MS ? (
    <span className="meta num">{duration(Math.floor(ms / 1000) * 1000).replace(".0", "")}</span>
  ) : null;
}
