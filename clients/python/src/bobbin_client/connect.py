"""How a client comes to be: over a WebSocket, or with a server of its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

from .asks import APPROVAL, QUESTION, Handler
from .client import Backoff, Client
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


@contextlib.asynccontextmanager
async def connect(
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
) -> AsyncGenerator[Client, None]:
    """Connects to the WebSocket of a server, as `bobbin` prints it. Raises `Refused`, or `OSError` where there is none.

    `approval` is asked for permission, `question` what a model wants to know; both are cancelled when somebody else has
    answered. `handlers` serve other requests of the server, by method. `on_connection` hears `True` when everything goes
    on, `False` when the connection breaks. Without `reconnect` a broken connection is the end.
    """

    async def opener() -> Transport:
        return await WebSocketTransport.open(url, token)

    async with _running(
        opener, name, version, approval, question, handlers, capabilities, reconnect, on_connection
    ) as client:
        yield client


@contextlib.asynccontextmanager
async def spawn(
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
) -> AsyncGenerator[Client, None]:
    """Starts a server for the directory `cwd` and speaks with it on stdio. It ends with this client; if it ends before,
    it is started again. Its stderr goes to ours, or nowhere if `quiet`. The rest is as with `connect`."""

    async def opener() -> Transport:
        return await ProcessTransport.open(command, cwd, env, quiet)

    async with _running(
        opener, name, version, approval, question, handlers, capabilities, reconnect, on_connection
    ) as client:
        yield client


@contextlib.asynccontextmanager
async def _running(
    opener: Opener,
    name: str,
    version: str,
    approval: ApprovalHandler | None,
    question: QuestionHandler | None,
    handlers: Mapping[str, Handler] | None,
    capabilities: ClientCapabilities | None,
    reconnect: Backoff | None,
    on_connection: Callable[[bool], None] | None,
) -> AsyncGenerator[Client, None]:
    served: dict[str, Handler] = dict(handlers or {})
    if approval is not None:
        ask = approval

        async def decide(params: ApprovalRequestParams) -> Message:
            return {"decision": await ask(params)}

        served[APPROVAL] = decide
    if question is not None:
        served[QUESTION] = question
    declared: Message = {
        "eventCursors": True,
        "approvalSupport": APPROVAL in served,
        "userInputSupport": QUESTION in served,
        **(capabilities or {}),
    }
    initialize: Message = {"clientInfo": {"name": name, "version": version}, "capabilities": declared}
    client = Client(opener, initialize, served, reconnect, on_connection)
    await client.start()
    try:
        yield client
    finally:
        await client.close()
