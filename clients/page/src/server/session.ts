//! Signs in. A one-time code in the address becomes this browser's secret, and the secret a ticket for each connection.
import { UnauthorizedError } from "@bobbin/client";
import { remember } from "../app/remember";

const SECRET = "bobbin.secret";
/** Whether the server made this host name for its present start, because the machine has accounts of other users. */
export const NAMED_ANEW = /^[a-z0-9]{16}\.localhost$/.test(location.hostname);
let connected = false;

/** Removes the code from the address at once, so that no history stores it. */
export function takeCode(): string | null {
  const code = location.hash.slice(1);
  if (!code || code.startsWith("/")) return null;
  history.replaceState(null, "", `${location.pathname}${location.search}#/`);
  return code;
}

/** Exchanges the code of the address, if there is one. Returns whether this browser is signed in. */
export async function enter(): Promise<boolean> {
  const code = takeCode();
  if (code) await exchange(code);
  if (localStorage.getItem(SECRET) !== null) return true;
  // A server without a token accepts every client of this machine.
  return (await askTicket()).ok;
}

/** Exchanges a code that a terminal has printed. */
export async function exchange(code: string): Promise<void> {
  const body = JSON.stringify({ code: code.trim().replace(/^.*#/, ""), label: browser() });
  const answer = await post("/page/session", { "content-type": "application/json" }, body);
  if (!answer.ok) {
    if (localStorage.getItem(SECRET) !== null) return;
    throw new Error(await reason(answer));
  }
  const { secret, device } = (await answer.json()) as { secret: string; device?: { id: string } };
  localStorage.setItem(SECRET, secret);
  connected = false;
  remember("device", device?.id ?? "");
}

/** Returns a ticket for one connection. */
export async function ticket(): Promise<string> {
  // When the server has ended, another program may listen here and would receive this tab's texts.
  if (NAMED_ANEW && connected)
    throw new UnauthorizedError(
      "The connection was lost, and another program may answer at this address now. `bobbin open` opens the page again.",
    );
  const answer = await askTicket();
  if (answer.status === 401) {
    localStorage.removeItem(SECRET);
    throw new UnauthorizedError("This browser is no longer paired.");
  }
  if (!answer.ok) throw new Error(await reason(answer));
  connected = true;
  return ((await answer.json()) as { ticket: string }).ticket;
}

function askTicket(): Promise<Response> {
  const secret = localStorage.getItem(SECRET);
  return post("/page/ticket", secret === null ? {} : { authorization: `Bearer ${secret}` });
}

async function reason(answer: Response): Promise<string> {
  // The server has another address: on a machine with other users it makes a new one at each start.
  if (answer.status === 403)
    return "The page has another address since the server was started again; `bobbin open` opens it.";
  const said = (await answer.json().catch(() => ({}))) as { message?: string };
  return said.message ?? `The server answers ${answer.status}.`;
}

/** Returns this browser's name in the list of devices. */
function browser(): string {
  const name = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(navigator.userAgent)?.[1] ?? "Browser";
  return `${name} on ${navigator.platform || "a device"}`;
}

async function post(path: string, headers: Record<string, string>, body?: string): Promise<Response> {
  return fetch(path, {
    method: "POST",
    headers,
    ...(body !== undefined && { body }),
    signal: AbortSignal.timeout(10_000),
  }).catch(() => {
    throw new Error("The server does not answer.");
  });
}

/** Returns the address of a WebSocket of this server. */
export const socketOf = (path: string) => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
