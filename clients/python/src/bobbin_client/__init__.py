"""A client for Bobbin and other AppServers: Threads that are followed through broken connections, typed requests."""

from .client import Backoff, Client
from .connect import VERSION as __version__
from .connect import connect, spawn
from .errors import BobbinError, Closed, Disconnected, EventsLost, MessageTooLarge, Refused, RequestError
from .events import Event, Events
from .thread import ThreadState, answer

__all__ = [
    "Backoff",
    "BobbinError",
    "Client",
    "Closed",
    "Disconnected",
    "Event",
    "Events",
    "EventsLost",
    "MessageTooLarge",
    "Refused",
    "RequestError",
    "ThreadState",
    "__version__",
    "answer",
    "connect",
    "spawn",
]
