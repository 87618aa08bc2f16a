"""What can go wrong, as exceptions."""

from __future__ import annotations

from typing import Any, cast


class BobbinError(Exception):
    """The base of all errors of this package."""


class Refused(BobbinError):
    """The server does not let this client in: the token is wrong, or the address is not allowed. Not tried again."""


class Disconnected(BobbinError):
    """The connection broke. Raised for requests that cannot be repeated, and for all when there is no reconnecting."""


class Exited(Disconnected):
    """The server that was started has ended. `code` is its exit code: 6 where another server has the folder, negative
    for a signal, none if it only closed its output. `stderr` has its last lines."""

    def __init__(self, program: str, code: int | None, stderr: str) -> None:
        self.code = code
        self.stderr = stderr
        how = "has closed its output" if code is None else f"has ended with exit code {code}"
        super().__init__(f"{program} {how}" + (f": {stderr}" if stderr else ""))


class Closed(BobbinError):
    """The client was closed, or gave up."""


class EventsLost(BobbinError):
    """A reader of events was too slow, and its buffer was full. The state of followed Threads is complete."""


class MessageTooLarge(BobbinError):
    """The message is larger than a server takes. It was not sent."""


class RequestError(BobbinError):
    """The server answered with an error."""

    def __init__(self, method: str, code: int, message: str, data: Any = None) -> None:
        self.method = method
        self.code = code
        """The protocol's code, one of `ErrorCode`."""
        self.message = message
        self.data: Any = data
        """What the server says beside the message: `detail` for people, `reason` for programs."""
        detail = self.detail("detail")
        super().__init__(f"{method}: {message} ({code})" + (f": {detail}" if detail else ""))

    def detail(self, member: str) -> Any:
        """Returns a member of `data`, if it is there."""
        get = getattr(self.data, "get", None)
        return get(member) if get else None

    @property
    def reason(self) -> str | None:
        """A stable word for a case that has no code of its own, such as `diskFull`."""
        return cast("str | None", self.detail("reason"))
