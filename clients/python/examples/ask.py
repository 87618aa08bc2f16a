"""Starts a server for this directory, asks, and prints the answer as it comes: `python ask.py 'list the files'`."""

import asyncio
import sys

from bobbin_client import spawn


async def main() -> None:
    async with spawn(quiet=True) as client:
        thread = await client.start_thread()
        async for event in thread.run(sys.argv[1]):
            if event["method"] == "item/agentMessage/delta":
                print(event["params"]["delta"], end="", flush=True)
        print(f"\n{thread.usage['totalTokens']} tokens")


asyncio.run(main())
