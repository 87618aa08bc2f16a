"""Requests of the server: what it asks this client's user, and the tools that this client runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]
Handler = Callable[[Any], Awaitable[Any]]
Key = tuple[str, str, str]

APPROVAL = "item/approval/request"
QUESTION = "item/tool/requestUserInput"
RESOLVED = {"item/approval/resolved": APPROVAL, "item/tool/requestUserInput/resolved": QUESTION}

log = logging.getLogger("bobbin_client")


@dataclass
class Ask:
    """One request that is being answered, or was answered and is not settled yet."""

    thread_id: str
    turn_id: str
    wire_id: int | str | None
    """Its id on the present connection; none while the server has not sent it on that."""
    answer: Message | None = None
    task: asyncio.Task[None] = field(init=False)


class Asks:
    """The open requests of the server.

    The server sends an approval or a question again after a reconnect. The handler is not called a second time for the
    same one; and it is cancelled when another client has answered.
    """

    def __init__(self, handlers: Mapping[str, Handler], send: Callable[[Message], Awaitable[None]]) -> None:
        self._handlers = handlers
        self._send = send
        self._asks: dict[Key, Ask] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, message: Message) -> None:
        """Takes a request."""
        method, wire_id = message["method"], message["id"]
        params: Message = message.get("params") or {}
        key = (method, str(params.get("threadId", "")), str(params.get("requestId") or f"#{wire_id}"))
        ask = self._asks.get(key)
        if ask is not None:
            ask.wire_id = wire_id
            if ask.answer is not None:
                self._spawn(self._send({"id": wire_id, **ask.answer}))
            return
        ask = Ask(key[1], str(params.get("turnId", "")), wire_id)
        self._asks[key] = ask
        ask.task = self._spawn(self._handle(key, ask, params))

    def notice(self, message: Message) -> None:
        """Looks at a notification: it may settle a request."""
        method = message["method"]
        params: Message = message["params"]
        if method in RESOLVED:
            about: Message = params["item"]["payload"] if "item" in params else params
            self._drop((RESOLVED[method], params["threadId"], about["requestId"]))
        elif method in ("turn/completed", "turn/failed", "turn/cancelled"):
            turn = params["turn"]
            for key, ask in list(self._asks.items()):
                if (ask.thread_id, ask.turn_id) == (turn["threadId"], turn["id"]):
                    self._drop(key)
        elif method == "thread/deleted":
            self.settle(params["threadId"], lambda _: False)

    def settle(self, thread_id: str, is_open: Callable[[str], bool]) -> None:
        """Drops what is not open any more, by request id, of a Thread that was read anew."""
        for key in list(self._asks):
            if key[1] == thread_id and not is_open(key[2]):
                self._drop(key)

    def disconnected(self, follows: Callable[[str], bool]) -> None:
        """Drops what the server will not send again: all but approvals and questions of Threads that are followed."""
        for key, ask in list(self._asks.items()):
            ask.wire_id = None
            if key[2].startswith("#") or not follows(key[1]):
                self._drop(key)

    async def close(self) -> None:
        """Ends all handlers."""
        self._asks.clear()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _handle(self, key: Key, ask: Ask, params: Message) -> None:
        handler = self._handlers.get(key[0])
        if handler is None:
            answer: Message = {"error": {"code": -32601, "message": f"Method not found: {key[0]}"}}
        else:
            try:
                answer = {"result": await handler(params)}
            except Exception:
                log.exception("the handler of %s failed", key[0])
                answer = {"error": {"code": -32603, "message": "Internal error"}}
        ask.answer = answer
        if ask.wire_id is not None:
            await self._send({"id": ask.wire_id, **answer})
        if key[0] not in RESOLVED.values():
            self._asks.pop(key, None)

    def _drop(self, key: Key) -> None:
        ask = self._asks.pop(key, None)
        if ask is not None and ask.answer is None:
            ask.task.cancel()

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
