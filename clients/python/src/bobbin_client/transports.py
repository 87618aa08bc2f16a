"""What carries messages: a WebSocket, or a child process that speaks lines."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as connect_websocket
from websockets.exceptions import ConnectionClosed, InvalidStatus, InvalidURI, WebSocketException

from .errors import Disconnected, MessageTooLarge, Refused

LONGEST_SENT = 4 << 20
"""Bytes of a message that a server takes."""
LONGEST_RECEIVED = 80 << 20
"""Bytes of a message that is taken from a server. Answers have up to 64 MiB."""
EXIT_SECONDS = 8.0
"""How long a child process may take to end after its input ended."""


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

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def open(
        cls, command: Sequence[str], cwd: str | None, env: Mapping[str, str] | None, quiet: bool
    ) -> Transport:
        """Starts the process. Its stderr goes to ours, or nowhere if `quiet`."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL if quiet else None,
                cwd=cwd,
                env=env,
                limit=LONGEST_RECEIVED,
            )
        except (FileNotFoundError, PermissionError) as error:
            raise Refused(f"cannot start {command[0]}: {error}") from error
        return cls(process)

    async def send(self, text: str) -> None:
        check_length(text)
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(text.encode() + b"\n")
            await pipe.drain()
        except (ConnectionError, RuntimeError) as error:
            raise Disconnected(f"the server has ended: {error}") from error

    async def receive(self) -> str:
        pipe = self._process.stdout
        assert pipe is not None
        try:
            line = await pipe.readline()
        except (ConnectionError, ValueError) as error:
            raise Disconnected(str(error)) from error
        if not line.endswith(b"\n"):
            raise Disconnected("the server has ended")
        return line.decode()

    async def close(self) -> None:
        """Ends the input, which ends the server, and waits for that; kills it if it takes too long."""
        process = self._process
        assert process.stdin is not None
        process.stdin.close()
        try:
            # Reads on: a server that waits for its reader would not end.
            assert process.stdout is not None
            await asyncio.wait_for(asyncio.gather(process.wait(), drained(process.stdout)), EXIT_SECONDS)
        except asyncio.TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def drained(pipe: asyncio.StreamReader) -> None:
    """Reads to the end."""
    with contextlib.suppress(ConnectionError):
        while await pipe.read(1 << 16):
            pass


def check_length(text: str) -> None:
    """Raises an error for a message that no server takes: it would end the connection, again and again."""
    if len(text) > LONGEST_SENT // 4 and len(text.encode()) > LONGEST_SENT:
        raise MessageTooLarge(f"a message has more than {LONGEST_SENT >> 20} MiB")
