"""Notifications as an async iterator with a bound."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Literal, TypedDict, Union

from .errors import EventsLost
from .types import Notification


class ResyncedParams(TypedDict):
    """Params of `bobbin/resynced`."""

    threadId: str


class ResyncedEvent(TypedDict):
    """Made here, not sent by servers: too much was missed, and the state of the Thread was read anew. It is complete;
    the events between are not given."""

    method: Literal["bobbin/resynced"]
    params: ResyncedParams


Event = Union[Notification, ResyncedEvent]
"""What iterators of events give."""


class Events:
    """Events from the moment this was made. `close` it, or use it in a `with` statement.

    Holds `limit` events. If its reader is slower, it holds no more, and the reader gets `EventsLost` after them.
    """

    def __init__(self, readers: set[Events], thread_id: str | None, limit: int) -> None:
        self.thread_id = thread_id
        self._limit = limit
        self._events: deque[Event] = deque()
        self._end: Exception | None = None
        self._more = asyncio.Event()
        self._readers = readers
        readers.add(self)

    def put(self, event: Event) -> None:
        """Adds an event, or ends this when it is full."""
        if len(self._events) < self._limit:
            self._events.append(event)
            self._more.set()
        else:
            self.end(EventsLost(f"more than {self._limit} events wait to be read"))

    def end(self, error: Exception) -> None:
        """Ends this: its reader gets what is there, then the error."""
        self._end = self._end or error
        self._more.set()
        self.close()

    def close(self) -> None:
        """Takes no further events."""
        self._readers.discard(self)

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._end is not None:
                raise self._end
            self._more.clear()
            await self._more.wait()
        return self._events.popleft()

    def __enter__(self) -> Events:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
