"""The client: one connection at a time, made again when it breaks."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from .asks import Asks, Handler
from .errors import BobbinError, Closed, Disconnected, Refused, RequestError
from .events import Event, Events
from .thread import Message, ThreadState
from .transports import Opener, Transport
from .types import (
    NAMED,
    REPEATABLE,
    ErrorCode,
    InitializeResult,
    Requests,
    Thread,
    ThreadStartParams,
    Turn,
)

MOST_IN_FLIGHT = 30
"""Requests without an answer; servers refuse the 33rd."""
MOST_RETRIES = 6
"""How often a request is repeated that an overloaded server has refused."""
OPEN_SECONDS = 30.0
"""How long a connection and its handshake may take."""


@dataclass(frozen=True)
class Backoff:
    """How long to wait before a connection is tried again: doubled each time, with chance in it."""

    first: float = 0.2
    most: float = 30.0

    def seconds(self, attempt: int) -> float:
        """Returns the pause before an attempt, counted from 0."""
        return min(self.most, self.first * 2.0 ** min(attempt, 20)) * random.uniform(0.5, 1.0)


@dataclass
class _Pending:
    """A request without an answer."""

    method: str
    text: str
    answer: asyncio.Future[Any]
    sent: bool = False


class Client(Requests):
    """A connection to a server. Made by `connect` and `spawn`.

    When the connection breaks, the client connects again, reads on in each followed Thread from where it stopped, and
    repeats the requests that were not answered. A change has a `clientRequestId`, so the server carries it out once.
    """

    def __init__(
        self,
        opener: Opener,
        initialize: Message,
        handlers: Mapping[str, Handler],
        backoff: Backoff | None,
        on_connection: Callable[[bool], None] | None,
    ) -> None:
        self.server: InitializeResult = cast(InitializeResult, {})
        """What the server says of itself."""
        self.reconnects = 0
        """How often the connection was made again."""
        self.error: Exception | None = None
        """Why the client gave up, if it did."""
        self.trouble: Exception | None = None
        """Why there is no connection at the moment."""
        self._opener = opener
        self._initialize = initialize
        self._backoff = backoff
        self._on_connection = on_connection
        self._asks = Asks(handlers, self._answer)
        self._threads: dict[str, ThreadState] = {}
        self._readers: set[Events] = set()
        self._pending: dict[int, _Pending] = {}
        self._ids = itertools.count(1)
        self._slots = asyncio.Semaphore(MOST_IN_FLIGHT)
        self._transport: Transport | None = None
        self._ready = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None

    # Requests.

    async def request_any(self, method: str, params: Any = None, *, timeout: float | None = 60.0) -> Any:
        """Sends a request and returns its result; while there is no connection, waits for one. `request` is the same,
        with types.

        Raises `RequestError`, `TimeoutError` (the server may carry it out all the same), `Closed`, and `Disconnected`
        for a request that cannot be repeated.
        """
        body = dict(params or {})
        if method in NAMED:
            body.setdefault("clientRequestId", uuid.uuid4().hex)
        return await asyncio.wait_for(self._patiently(method, body), timeout)

    async def _patiently(self, method: str, body: Message) -> Any:
        for attempt in itertools.count():
            async with self._slots:
                try:
                    return await self._call(method, body)
                except RequestError as error:
                    if error.code != ErrorCode.OVERLOADED or attempt >= MOST_RETRIES:
                        raise
                    after = float(error.detail("retryAfterMs") or 0) / 1000
            await asyncio.sleep(max(after, Backoff().seconds(attempt)))

    async def _call(self, method: str, body: Message, *, now: bool = False) -> Any:
        """Makes a request; `now` for those that belong to this connection alone."""
        if self.error is not None:
            raise Closed(str(self.error)) from self.error
        wire_id = next(self._ids)
        text = dump({"id": wire_id, "method": method, "params": body})
        pending = _Pending(method, text, asyncio.get_running_loop().create_future())
        self._pending[wire_id] = pending
        try:
            if self._ready.is_set() or now:
                await self._send_request(pending)
            return await pending.answer
        except asyncio.CancelledError:
            if pending.sent and not pending.answer.done():
                with contextlib.suppress(BobbinError):
                    await self._answer({"method": "$/cancelRequest", "params": {"id": wire_id}})
            raise
        finally:
            self._pending.pop(wire_id, None)

    async def _send_request(self, pending: _Pending) -> None:
        transport = self._transport
        pending.sent = True
        if transport is not None:
            with contextlib.suppress(Disconnected):  # The reader notices it too, and decides.
                await transport.send(pending.text)

    async def notify(self, method: str, params: Message) -> None:
        """Sends a notification, if there is a connection."""
        await self._answer({"method": method, "params": params})

    async def _answer(self, message: Message) -> None:
        if self._transport is not None:
            with contextlib.suppress(Disconnected):
                await self._transport.send(dump(message))

    # Events and Threads.

    def events(self, thread_id: str | None = None, *, limit: int = 10_000) -> Events:
        """Returns the notifications from now on, of one Thread or of all. Those of a Thread come once each and in order
        if it is followed; else some are lost when the connection breaks."""
        events = Events(self._readers, thread_id, limit)
        if self.error is not None:
            events.end(self.error)
        return events

    async def follow(self, thread_id: str) -> ThreadState:
        """Returns the state of a Thread, which from now on is as the server's. One Thread has one state."""
        if not self.server["capabilities"].get("eventCursors"):
            raise BobbinError("this server does not number events (capability eventCursors)")
        if self.error is None:
            await self._ready.wait()
        if self.error is not None:
            raise Closed(str(self.error)) from self.error
        state = self._threads.get(thread_id)
        if state is None:
            state = self._threads[thread_id] = ThreadState(self, thread_id)
            state.begin_sync()
            await self._first_sync(state)
        return await state.until(lambda state: state.seq is not None)

    async def _first_sync(self, state: ThreadState) -> None:
        while True:
            try:
                return await self._sync(state)
            except Disconnected:
                # The next connection follows it with all others.
                await state.until(lambda state: state.seq is not None)
                return
            except BaseException as error:
                self._threads.pop(state.id, None)
                state.end(error if isinstance(error, Exception) else Closed("the following was cancelled"))
                raise

    async def unfollow(self, state: ThreadState) -> None:
        """Ends the following of a Thread."""
        if self._threads.pop(state.id, None) is state:
            state.end(Closed("the Thread is not followed any more"))
            await self.request("thread/unsubscribe", {"threadId": state.id})

    async def start_thread(self, channel: str = "python", **params: Any) -> ThreadState:
        """Starts a Thread and follows it. `params` are further members of `thread/start`, such as `config`."""
        start = cast(ThreadStartParams, {"identity": {"channelName": channel}, **params})
        result = await self.request("thread/start", start)
        return await self.follow(result["thread"]["id"])

    async def _sync(self, state: ThreadState) -> None:
        """Subscribes to a Thread, and reads it where what was missed cannot be sent."""
        state.begin_sync()
        subscribe: Message = {"threadId": state.id}
        if state.seq is not None:
            subscribe["afterSeq"] = state.seq
        answer = await self._call("thread/subscribe", subscribe, now=True)
        if answer.get("mode") != "replay":
            again = state.seq is not None
            thread, turns, seq = await self._read(state.id)
            state.replace(thread, turns, seq)
            waiting = {approval["requestId"] for approval in state.approvals}
            self._asks.settle(state.id, lambda request: request in waiting or state.running is not None)
            if again:
                self._give({"method": "bobbin/resynced", "params": {"threadId": state.id}}, state.id)
        for message in state.end_sync():
            self._deliver(message, state.id)

    async def _read(self, thread_id: str) -> tuple[Thread, list[Turn], int]:
        """Reads a whole Thread, page by page: the newest Turns come first."""
        params: Message = {"threadId": thread_id, "includeTurns": True}
        read = first = await self._call("thread/read", params, now=True)
        turns = list(read["thread"].pop("turns", []))
        while cursor := read.get("turnPage", {}).get("nextCursor"):
            read = await self._call("thread/read", {**params, "cursor": cursor}, now=True)
            turns[:0] = read["thread"]["turns"]
        return first["thread"], turns, first["seq"]

    # The life of the connection.

    async def start(self) -> None:
        """Connects for the first time; raises why it cannot."""
        self._transport = await self._open()
        self._runner = asyncio.create_task(self._run(self._transport))

    async def close(self) -> None:
        """Ends the connection and everything that waits for it."""
        if self._runner is not None:
            self._runner.cancel()
            await asyncio.gather(self._runner, return_exceptions=True)
        if self._transport is not None:  # The runner had no time to begin.
            await self._transport.close()
            self._transport = None
        await self._asks.close()
        self._end(Closed("the client was closed"))

    async def _open(self) -> Transport:
        """Makes a connection and does the handshake."""
        transport = await asyncio.wait_for(self._opener(), OPEN_SECONDS)
        try:
            self.server = await asyncio.wait_for(self._greet(transport), OPEN_SECONDS)
        except BaseException:
            await transport.close()
            raise
        return transport

    async def _greet(self, transport: Transport) -> InitializeResult:
        await transport.send(dump({"id": 0, "method": "initialize", "params": self._initialize}))
        answer = json.loads(await transport.receive())
        if "error" in answer:
            raise Refused(str(request_error("initialize", answer["error"])))
        await transport.send(dump({"method": "initialized", "params": {}}))
        return cast(InitializeResult, answer["result"])

    async def _run(self, transport: Transport) -> None:
        """Owns the connections, one after the other."""
        attempt = 0
        try:
            while True:
                resumed = await self._serve(transport)
                attempt = 0 if resumed else attempt + 1
                if self._backoff is None:
                    raise self.trouble or Disconnected("the connection broke")
                transport, attempt = await self._again(self._backoff, attempt)
                self.reconnects += 1
        except Exception as error:
            self._end(error)

    async def _again(self, backoff: Backoff, attempt: int) -> tuple[Transport, int]:
        while True:
            await asyncio.sleep(backoff.seconds(attempt))
            try:
                return await self._open(), attempt
            except (OSError, Disconnected, asyncio.TimeoutError) as error:
                self.trouble = error
                attempt += 1

    async def _serve(self, transport: Transport) -> bool:
        """Serves one connection to its end. Returns whether everything could go on with it."""
        self._transport = transport
        resume = asyncio.create_task(self._resume(transport))
        try:
            for count in itertools.count(1):
                self._take(json.loads(await transport.receive()))
                if count % 100 == 0:
                    await asyncio.sleep(0)  # Others get their turn, however fast the server is.
        except Disconnected as error:
            self.trouble = error
        finally:
            was_ready, self._transport = self._ready.is_set(), None
            self._ready.clear()
            resume.cancel()
            self._lose()
            await asyncio.gather(resume, return_exceptions=True)
            await transport.close()
            if was_ready and self._on_connection:
                self._on_connection(False)
        return was_ready

    async def _resume(self, transport: Transport) -> None:
        """Reads on in all Threads, repeats requests, and lets new ones through."""
        try:
            for state in list(self._threads.values()):
                try:
                    await self._sync(state)
                except RequestError as error:
                    if error.code != ErrorCode.THREAD_NOT_FOUND:
                        raise
                    self._threads.pop(state.id, None)
                    state.deleted = True
                    state.end(Closed("the Thread was deleted"))
            while waiting := [pending for pending in self._pending.values() if not pending.sent]:
                await self._send_request(waiting[0])
            self.trouble = None
            self._ready.set()
            if self._on_connection:
                self._on_connection(True)
        except (BobbinError, KeyError):
            await transport.close()  # The reader sees the end, and the next connection tries again.

    def _lose(self) -> None:
        """Decides what becomes of everything that the broken connection owed."""
        for pending in list(self._pending.values()):
            repeatable = pending.method in NAMED or pending.method in REPEATABLE
            if pending.sent and not (repeatable and self._backoff):
                fail(pending.answer, Disconnected(f"{pending.method}: the connection broke before the answer came"))
            pending.sent = False
        self._asks.disconnected(lambda thread_id: thread_id in self._threads)

    def _end(self, error: Exception) -> None:
        self.error = self.error or error
        self._ready.set()  # Wakes those who wait for a connection; they look at `error`.
        for pending in self._pending.values():
            fail(pending.answer, self.error)
        for state in self._threads.values():
            state.end(self.error)
        for reader in list(self._readers):
            reader.end(self.error)

    # What comes.

    def _take(self, message: Message) -> None:
        if "method" not in message:
            pending = self._pending.get(message.get("id", -1))
            if pending is not None and not pending.answer.done():
                if "error" in message:
                    fail(pending.answer, request_error(pending.method, message["error"]))
                else:
                    pending.answer.set_result(message.get("result"))
        elif message.get("id") is not None:
            self._asks.take(message)
        else:
            message.setdefault("params", {})
            thread_id = thread_of(message["params"])
            state = self._threads.get(thread_id or "")
            try:
                if state is None or state.take(message):
                    self._deliver(message, thread_id)
            except BobbinError:
                # More than fits came while it was read: once more from the beginning.
                assert state is not None
                state.seq = None
                raise Disconnected("too many events at once") from None

    def _deliver(self, message: Message, thread_id: str | None) -> None:
        self._asks.notice(message)
        if message["method"] == "thread/deleted" and thread_id is not None:
            state = self._threads.pop(thread_id, None)
            if state is not None:
                state.deleted = True
                state.end(Closed("the Thread was deleted"))
        self._give(message, thread_id)

    def _give(self, message: Message, thread_id: str | None) -> None:
        for reader in list(self._readers):
            if reader.thread_id is None or reader.thread_id == thread_id:
                reader.put(cast(Event, message))


def thread_of(params: Message) -> str | None:
    """Returns the Thread that a notification is about."""
    thread: Message = params.get("thread") or {}
    return params.get("threadId") or thread.get("id")


def dump(message: Message) -> str:
    """Returns a message as text."""
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))


def request_error(method: str, error: Message) -> RequestError:
    """Returns the error of an answer."""
    return RequestError(method, error.get("code", 0), error.get("message", ""), error.get("data"))


def fail(answer: asyncio.Future[Any], error: Exception) -> None:
    """Fails a request, unless it is answered."""
    if not answer.done():
        answer.set_exception(error)
