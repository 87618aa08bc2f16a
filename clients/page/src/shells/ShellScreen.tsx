//! One shell in a terminal.
import { useEffect, useRef } from "react";
import { useClient, useServer } from "../server/context";
import { complain } from "../ui/toast";
import { connect } from "./connect";
import { followTheme, makeTerminal } from "./xterm";

interface Props {
  id: string;
  label: string;
  /** Whether this page has opened the shell. Says so once. */
  takeNew: () => boolean;
  onEnd: (code?: number) => void;
  onError: (why: string) => void;
  /** The user wants to leave the terminal by the keyboard. */
  onLeave: () => void;
}

export function ShellScreen({ id, label, ...events }: Props) {
  const client = useClient();
  // Another one after each handshake: a new connection is attached to nothing.
  const server = useServer();
  const place = useRef<HTMLDivElement>(null);
  const current = useRef(events);
  const shown = useRef<ReturnType<typeof makeTerminal>["terminal"]>(null);
  useEffect(() => {
    current.current = events;
  });

  useEffect(() => {
    if (!place.current) return;
    const { terminal, fit } = makeTerminal();
    shown.current = terminal;
    terminal.open(place.current);
    terminal.textarea?.setAttribute("aria-label", label);
    terminal.attachCustomKeyEventHandler((event) => {
      if (event.type !== "keydown") return true;
      if (event.key === "F6" && event.shiftKey) {
        event.preventDefault();
        current.current.onLeave();
        return false;
      }
      if (event.code === "KeyC" && event.ctrlKey && event.shiftKey) {
        event.preventDefault();
        if (terminal.hasSelection()) navigator.clipboard.writeText(terminal.getSelection()).catch(complain);
        return false;
      }
      // The browser pastes.
      return !(event.code === "KeyV" && event.ctrlKey && event.shiftKey);
    });
    const unfollow = followTheme(terminal);
    const sized = new ResizeObserver(() => fit.fit());
    sized.observe(place.current);
    terminal.focus();
    return () => {
      sized.disconnect();
      unfollow();
      terminal.dispose();
      shown.current = null;
    };
  }, [label]);

  useEffect(() => {
    const terminal = shown.current;
    if (!terminal || !server) return;
    const end = connect(client, id, terminal, {
      takeNew: () => current.current.takeNew(),
      onEnd: (code) => current.current.onEnd(code),
      onError: (why) => current.current.onError(why),
    });
    // The shell has the size of the page that looks at it last.
    client.request("shell/resize", { id, columns: terminal.cols, rows: terminal.rows }).catch(() => {
      // What is wrong, the attachment says.
    });
    return end;
  }, [client, server, id]);

  return <div ref={place} className="shell-screen" onKeyDown={(event) => event.stopPropagation()} />;
}
