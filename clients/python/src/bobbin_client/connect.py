"""How a client comes to be: over a WebSocket, or with a server of its own."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from types import TracebackType
from typing import TypedDict
from urllib.parse import urlsplit

from .asks import APPROVAL, QUESTION, Handler
from .client import Backoff, Client
from .errors import Exited, Refused
from .thread import Message
from .transports import Opener, ProcessTransport, Transport, WebSocketTransport
from .types import (
    ApprovalDecision,
    ApprovalRequestParams,
    ClientCapabilities,
    RequestUserInputParams,
    RequestUserInputResult,
)

VERSION = "0.1.0"

ApprovalHandler = Callable[[ApprovalRequestParams], Awaitable[ApprovalDecision]]
QuestionHandler = Callable[[RequestUserInputParams], Awaitable[RequestUserInputResult]]


FIND_SECONDS = 20.0


class Connecting:
    """A client that is being made: `await` it and `close()` it later, or use it in `async with`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __await__(self) -> Generator[None, None, Client]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Client:
        await self._client.start()
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()


def connect(
    url: str,
    *,
    token: str | None = None,
    name: str = "bobbin-client",
    version: str = VERSION,
    approval: ApprovalHandler | None = None,
    question: QuestionHandler | None = None,
    handlers: Mapping[str, Handler] | None = None,
    capabilities: ClientCapabilities | None = None,
    reconnect: Backoff | None = Backoff(),
    on_connection: Callable[[bool], None] | None = None,
) -> Connecting:
    """Connects to the WebSocket of a server, as `bobbin` prints it. Raises `Refused`, or `OSError` where there is none.

    `approval` is asked for permission, `question` what a model wants to know; both are cancelled when somebody else has
    answered. `handlers` serve other requests of the server, by method. `on_connection` hears `True` when everything goes
    on, `False` when the connection breaks. Without `reconnect` a broken connection is the end.
    """

    async def opener() -> Transport:
        return await WebSocketTransport.open(url, token)

    return _client(opener, name, version, approval, question, handlers, capabilities, reconnect, on_connection)


def spawn(
    command: Sequence[str] = ("bobbin", "app-server"),
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    quiet: bool = False,
    name: str = "bobbin-client",
    version: str = VERSION,
    approval: ApprovalHandler | None = None,
    question: QuestionHandler | None = None,
    handlers: Mapping[str, Handler] | None = None,
    capabilities: ClientCapabilities | None = None,
    reconnect: Backoff | None = Backoff(),
    on_connection: Callable[[bool], None] | None = None,
) -> Connecting:
    """Starts a server for the directory `cwd` and speaks with it on stdio. Raises `Exited` if it does not run.

    It ends with this client; if it ends before, it is started again. Its stderr goes to ours, or nowhere if `quiet`. The
    rest is as with `connect`.
    """

    async def opener() -> Transport:
        return await ProcessTransport.open(command, cwd, env, quiet)

    return _client(opener, name, version, approval, question, handlers, capabilities, reconnect, on_connection)


def _client(
    opener: Opener,
    name: str,
    version: str,
    approval: ApprovalHandler | None,
    question: QuestionHandler | None,
    handlers: Mapping[str, Handler] | None,
    capabilities: ClientCapabilities | None,
    reconnect: Backoff | None,
    on_connection: Callable[[bool], None] | None,
) -> Connecting:
    served: dict[str, Handler] = dict(handlers or {})
    if approval is not None:
        ask = approval

        async def decide(params: ApprovalRequestParams) -> Message:
            return {"decision": await ask(params)}

        served[APPROVAL] = decide
    if question is not None:
        if approval is None:
            raise ValueError("question= needs approval= too: questions are asked only of clients that answer approvals")
        served[QUESTION] = question
    declared: Message = {
        "eventCursors": True,
        "approvalSupport": APPROVAL in served,
        "userInputSupport": QUESTION in served,
        **(capabilities or {}),
    }
    initialize: Message = {"clientInfo": {"name": name, "version": version}, "capabilities": declared}
    return Connecting(Client(opener, initialize, served, reconnect, on_connection))


class Address(TypedDict):
    """Where a server is, for `connect(**address)`."""

    url: str
    token: str


async def find_server(
    cwd: str | None = None, *, program: str = "bobbin", env: Mapping[str, str] | None = None
) -> Address:
    """Returns the address and the token of the server that runs for the folder `cwd`, or for one around it.

    Raises `Exited` where none runs.
    """

    async def run(*arguments: str) -> str:
        try:
            process = await asyncio.create_subprocess_exec(
                program, *arguments, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, cwd=cwd, env=env
            )
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            raise Refused(f"cannot start {program}: {error}") from error
        try:
            said, complaint = await asyncio.wait_for(process.communicate(), FIND_SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
        if process.returncode != 0:
            raise Exited(f"{program} {arguments[0]}", process.returncode, complaint.decode(errors="replace").strip())
        return said.decode().strip()

    # It prints the address of the page with a code for a browser, which stays unused.
    page = await run("open", "--print")
    parts = urlsplit("ws" + page.removeprefix("http"))
    host = parts.netloc
    # Only browsers know the names below `localhost`.
    if (parts.hostname or "").endswith(".localhost"):
        host = f"127.0.0.1:{parts.port or 80}"
    url = f"{parts.scheme}://{host}{parts.path}ws"
    return {"url": url, "token": (os.environ if env is None else env).get("BOBBIN_TOKEN") or await run("token")}
