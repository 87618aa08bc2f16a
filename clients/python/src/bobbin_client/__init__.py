"""A client for Bobbin and other AppServers: Threads that are followed through broken connections, typed requests."""

from .client import Backoff, Client
from .connect import VERSION as __version__
from .connect import Address, Connecting, connect, find_server, spawn
from .errors import BobbinError, Closed, Disconnected, EventsLost, Exited, MessageTooLarge, Refused, RequestError
from .events import Event, Events
from .thread import ThreadState, answer
from .types import ErrorCode

__all__ = [
    "Address",
    "Backoff",
    "BobbinError",
    "Client",
    "Closed",
    "Connecting",
    "Disconnected",
    "ErrorCode",
    "Event",
    "Events",
    "EventsLost",
    "Exited",
    "MessageTooLarge",
    "Refused",
    "RequestError",
    "ThreadState",
    "__version__",
    "answer",
    "connect",
    "find_server",
    "spawn",
]
