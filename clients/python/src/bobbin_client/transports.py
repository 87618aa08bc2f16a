"""What carries messages: a WebSocket, or a child process that speaks lines."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as connect_websocket
from websockets.exceptions import ConnectionClosed, InvalidStatus, InvalidURI, WebSocketException

from .errors import Disconnected, Exited, MessageTooLarge, Refused

LONGEST_SENT = 4 << 20
"""Bytes of a message that a server takes."""
LONGEST_RECEIVED = 80 << 20
"""Bytes of a message that is taken from a server. Answers have up to 64 MiB."""
EXIT_SECONDS = 8.0
"""How long a child process may take to end after its input ended."""
REST_SECONDS = 0.5
"""How long to read on after it has ended: processes that it leaves may keep its pipes open."""
LAST_LINES = 10
"""Lines of stderr that are remembered."""
LONGEST_LINE = 1_000
"""Bytes of them."""


class Transport(Protocol):
    """One connection."""

    async def send(self, text: str) -> None:
        """Sends a message. Raises `Disconnected` or `MessageTooLarge`."""

    async def receive(self) -> str:
        """Returns the next message. Raises `Disconnected`."""
        ...

    async def close(self) -> None:
        """Ends the connection."""


Opener = Callable[[], Awaitable[Transport]]
"""Makes a connection. Raises `Refused` where trying again is of no use, else `OSError` or `Disconnected`."""


class WebSocketTransport:
    """One WebSocket."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    @classmethod
    async def open(cls, url: str, token: str | None) -> Transport:
        """Connects. The token goes into a header, where it does not get into logs of addresses."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            socket = await connect_websocket(
                url, additional_headers=headers, max_size=LONGEST_RECEIVED, compression=None, proxy=None
            )
        except InvalidStatus as error:
            response = error.response
            body = (response.body or b"").decode(errors="replace").strip()
            text = f"{response.status_code} {body or response.reason_phrase}"
            raise (Refused if 400 <= response.status_code < 500 else Disconnected)(text) from error
        except InvalidURI as error:
            raise Refused(str(error)) from error
        except WebSocketException as error:
            raise Disconnected(str(error)) from error
        return cls(socket)

    async def send(self, text: str) -> None:
        check_length(text)
        try:
            await self._socket.send(text)
        except ConnectionClosed as error:
            raise Disconnected(str(error)) from error

    async def receive(self) -> str:
        try:
            message = await self._socket.recv()
        except ConnectionClosed as error:
            raise Disconnected(str(error)) from error
        return message if isinstance(message, str) else message.decode()

    async def close(self) -> None:
        await self._socket.close()


class ProcessTransport:
    """A child process; a message is a line."""

    def __init__(self, process: Process, program: str, quiet: bool) -> None:
        self._process = process
        self._program = program
        self._said: deque[str] = deque(maxlen=LAST_LINES)
        self._listening = asyncio.create_task(self._listen(quiet))

    @classmethod
    async def open(
        cls, command: Sequence[str], cwd: str | None, env: Mapping[str, str] | None, quiet: bool
    ) -> Transport:
        """Starts the process. Its stderr goes to ours, or nowhere if `quiet`."""
        try:
            # In a session of its own: Ctrl-C, or a notebook's interrupt, is for this program.
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=cwd,
                env=env,
                limit=LONGEST_RECEIVED,
                start_new_session=True,
            )
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            raise Refused(f"cannot start {command[0]}: {error}") from error
        return cls(process, " ".join(command[:2]), quiet)

    async def send(self, text: str) -> None:
        check_length(text)
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(text.encode() + b"\n")
            await pipe.drain()
        except (ConnectionError, RuntimeError) as error:
            raise await self._exited() from error

    async def receive(self) -> str:
        pipe = self._process.stdout
        assert pipe is not None
        try:
            line = await pipe.readline()
        except ValueError as error:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            raise Disconnected(f"the server sent a line of more than {LONGEST_RECEIVED >> 20} MiB") from error
        except ConnectionError as error:
            raise Disconnected(str(error)) from error
        if not line.endswith(b"\n"):
            raise await self._exited()
        return line.decode()

    async def close(self) -> None:
        """Ends the input, which ends the server, and waits for that; kills it if it takes too long."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        # Reads on: a server that waits for its reader would not end.
        reading = asyncio.create_task(drained(process.stdout))
        if not await self._ended(EXIT_SECONDS):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await self._ended(EXIT_SECONDS)
        _, late = await asyncio.wait([reading, self._listening], timeout=REST_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(reading, self._listening, return_exceptions=True)

    async def _exited(self) -> Exited:
        """Returns why there is no output any more."""
        await self._ended(REST_SECONDS)
        await asyncio.wait([self._listening], timeout=REST_SECONDS)
        return Exited(self._program, self._process.returncode, "\n".join(self._said))

    async def _ended(self, seconds: float) -> bool:
        """Waits until the process has ended. Returns whether it has."""
        # Before Python 3.12 this waits for the pipes too, so the exit code decides.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), seconds)
        return self._process.returncode is not None

    async def _listen(self, quiet: bool) -> None:
        """Reads stderr to its end, so that the server never waits for it."""
        pipe = self._process.stderr
        assert pipe is not None
        line = b""
        with contextlib.suppress(ConnectionError):
            while chunk := await pipe.read(1 << 16):
                *whole, rest = chunk.split(b"\n")
                for end in whole:
                    self._said.append(cut(line + end))
                    line = b""
                line = (line + rest)[: LONGEST_LINE + 1]
                if not quiet:
                    with contextlib.suppress(OSError, ValueError):  # Ours may be closed.
                        sys.stderr.write(chunk.decode(errors="replace"))
        if line:
            self._said.append(cut(line))


def cut(line: bytes) -> str:
    """Returns the beginning of a long line."""
    return line[:LONGEST_LINE].decode(errors="replace") + ("…" if len(line) > LONGEST_LINE else "")


async def drained(pipe: asyncio.StreamReader) -> None:
    """Reads to the end."""
    with contextlib.suppress(ConnectionError):
        while await pipe.read(1 << 16):
            pass


def check_length(text: str) -> None:
    """Raises an error for a message that no server takes: it would end the connection, again and again."""
    if len(text) > LONGEST_SENT // 4 and len(text.encode()) > LONGEST_SENT:
        raise MessageTooLarge(f"a message has more than {LONGEST_SENT >> 20} MiB")
