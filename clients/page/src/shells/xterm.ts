//! xterm with the page's colours, and without what the output of a program could do beyond its own screen.
import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import "./styles";

/** Lines of the scrollback. */
const SCROLLBACK = 5000;

/**
 * Commands of programs that the terminal takes and does not follow: titles (0, 1, 2), colours of the terminal itself (4, 10
 * to 19, 104, 110 to 119), links that hide where they lead (8), and the clipboard (52). Answers about the window and its
 * title are off as xterm has them.
 */
const REFUSED = [0, 1, 2, 4, 5, 8, ...numbers(10, 19), 52, 104, 105, ...numbers(110, 119)];

function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

export function makeTerminal(): { terminal: Terminal; fit: FitAddon } {
  const terminal = new Terminal({
    fontFamily: value("--mono"),
    fontSize: 13,
    scrollback: SCROLLBACK,
    minimumContrastRatio: 4.5,
    // Without a handler, xterm opens a link's address after a question of its own.
    linkHandler: null,
    logLevel: "off",
    theme: theme(),
  });
  for (const command of REFUSED) terminal.parser.registerOscHandler(command, () => true);
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  return { terminal, fit };
}

/** Follows the colours of the page. Returns what ends that. */
export function followTheme(terminal: Terminal): () => void {
  const update = () => {
    terminal.options.theme = theme();
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = new MutationObserver(update);
  dark.addEventListener("change", update);
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    dark.removeEventListener("change", update);
    chosen.disconnect();
  };
}

function theme(): ITheme {
  const ink = value("--ink");
  return {
    background: value("--paper"),
    foreground: ink,
    cursor: ink,
    cursorAccent: value("--paper"),
    selectionBackground: value("--accent-line"),
    selectionForeground: ink,
    scrollbarSliderBackground: value("--line-strong"),
    scrollbarSliderHoverBackground: value("--ink-3"),
    scrollbarSliderActiveBackground: value("--ink-3"),
  };
}

const value = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
