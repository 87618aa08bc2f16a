"""Shows what happens in a Thread of somebody else: `python follow.py THREAD_ID`."""

import asyncio
import sys

from bobbin_client import connect, find_server


async def main() -> None:
    async with connect(**await find_server()) as client:
        thread = await client.follow(sys.argv[1])
        async for state in thread.changes():
            turn = state.turns[-1] if state.turns else None
            print(state.info.get("displayName"), "|", turn["status"] if turn else "empty", "|", len(state.items), "items")


asyncio.run(main())
