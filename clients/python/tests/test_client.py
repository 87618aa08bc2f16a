"""What a client does with a server that stays."""

from __future__ import annotations

import asyncio
from typing import Any

from bobbin_client import Closed, Disconnected, ErrorCode, Refused, RequestError, ThreadState, answer, connect, spawn
from bobbin_client.types import ApprovalDecision, ApprovalRequestParams

from .support import TOKEN, WAIT, ServedTest


async def accept(params: ApprovalRequestParams) -> ApprovalDecision:
    return "accept"


async def same_as_stored(test: ServedTest, state: ThreadState) -> None:
    """Checks that a followed state is what a client that comes late reads."""
    async with connect(test.server.url, token=TOKEN) as late:
        stored = (await late.request("thread/read", {"threadId": state.id, "includeTurns": True}))["thread"]
    test.assertEqual(state.turns, stored.get("turns"))
    for member in ("displayName", "status", "runtime", "queuedInputs", "contextUsage", "plan"):
        if member == "contextUsage" and member not in state.info:
            continue  # Not known after a rollback, until the model is used again.
        test.assertEqual(state.info.get(member), stored.get(member), member)


class OverBothTransports(ServedTest):
    async def test_a_websocket_is_greeted_asked_and_streamed_from(self) -> None:
        async with connect(self.server.url, token=TOKEN, name="tests") as client:
            self.assertEqual(client.server["serverInfo"]["name"], "bobbin")
            thread = await client.start_thread()
            text = ""
            async for event in thread.run("say hello to the tea"):
                if event["method"] == "item/agentMessage/delta":
                    text += event["params"]["delta"]
            self.assertEqual(text, answer(thread.turns[-1]))
            self.assertTrue(text)
            self.assertGreater(thread.usage["totalTokens"], 0)
            await same_as_stored(self, thread)

    async def test_a_process_is_greeted_asked_and_ended(self) -> None:
        command = [*self.workspace.stdio, "--state", str(self.workspace.root / "other")]
        async with spawn(command, cwd=str(self.workspace.files), env=self.workspace.env) as client:
            thread = await client.start_thread()
            turn = await thread.ask("list the files")
            self.assertEqual(turn["status"], "completed")
        with self.assertRaises(Closed):
            await client.request("model/list")

    async def test_a_client_is_awaited_and_closed_later(self) -> None:
        client = await connect(self.server.url, token=TOKEN)
        thread = await client.start_thread()
        running = await thread.start("say one")
        await thread.enqueue("say two")
        await asyncio.wait_for(thread.until(lambda state: len(state.turns) == 2 and state.running is None), WAIT)
        self.assertTrue(thread.ended(running["id"]))
        await client.close()
        with self.assertRaises(Closed):
            await client.request("model/list")


class Refusals(ServedTest):
    async def test_a_wrong_token_is_refused_and_not_tried_again(self) -> None:
        for token in ("wrong", None):
            with self.assertRaisesRegex(Refused, "401"):
                async with connect(self.server.url, token=token):
                    self.fail("it was let in")

    async def test_no_server_and_no_program_are_errors_at_once(self) -> None:
        await self.server.stop()
        with self.assertRaises(OSError):
            async with connect(self.server.url, token=TOKEN):
                pass
        with self.assertRaises(Refused):
            async with spawn(["/nowhere/bobbin"]):
                pass

    async def test_questions_without_approvals_would_never_be_asked(self) -> None:
        async def answer(_: object) -> dict[str, object]:
            return {"answers": {}}

        with self.assertRaisesRegex(ValueError, "needs approval="):
            connect(self.server.url, token=TOKEN, question=answer)

    async def test_an_answer_with_an_error_has_its_code_and_words(self) -> None:
        async with connect(self.server.url, token=TOKEN) as client:
            with self.assertRaises(RequestError) as raised:
                await client.request("thread/read", {"threadId": "thread_20270301_nobody"})
            self.assertEqual(raised.exception.code, ErrorCode.THREAD_NOT_FOUND)
            with self.assertRaises(RequestError) as raised:
                await client.request_any("tea/pour")
            self.assertEqual(raised.exception.code, ErrorCode.METHOD_NOT_FOUND)

    async def test_without_reconnecting_a_broken_connection_is_the_end(self) -> None:
        async with connect(self.server.url, token=TOKEN, reconnect=None) as client:
            thread = await client.start_thread()
            waiting = asyncio.ensure_future(thread.until(lambda _: False))
            await self.server.kill()
            with self.assertRaises(Disconnected):
                await asyncio.wait_for(waiting, WAIT)
            with self.assertRaises(Closed):
                await client.request("model/list")


class Approvals(ServedTest):
    async def run_with(self, decision: ApprovalDecision) -> ThreadState:
        asked: list[ApprovalRequestParams] = []

        async def decide(params: ApprovalRequestParams) -> ApprovalDecision:
            asked.append(params)
            return decision

        async with connect(self.server.url, token=TOKEN, approval=decide) as client:
            thread = await client.start_thread()
            await asyncio.wait_for(thread.ask("run `touch asked`"), WAIT)
            self.assertEqual([params["operation"] for params in asked], ["touch asked"])
            self.assertEqual(thread.approvals, [])
            await same_as_stored(self, thread)
            return thread

    async def test_what_is_accepted_runs(self) -> None:
        await self.run_with("accept")
        self.assertTrue((self.workspace.files / "asked").exists())

    async def test_what_is_declined_does_not(self) -> None:
        thread = await self.run_with("decline")
        self.assertEqual(thread.turns[-1]["status"], "completed")
        self.assertFalse((self.workspace.files / "asked").exists())

    async def test_an_approval_that_another_client_answers_is_withdrawn(self) -> None:
        asked, withdrawn = asyncio.Event(), asyncio.Event()

        async def slow(params: ApprovalRequestParams) -> ApprovalDecision:
            asked.set()
            try:
                await asyncio.sleep(WAIT)
            except asyncio.CancelledError:
                withdrawn.set()
                raise
            return "decline"

        async with connect(self.server.url, token=TOKEN, approval=slow) as first:
            thread = await first.start_thread()
            turn = asyncio.ensure_future(thread.ask("run `touch asked`"))
            await asyncio.wait_for(asked.wait(), WAIT)
            self.assertEqual([waiting["operation"] for waiting in thread.approvals], ["touch asked"])
            self.assertEqual(thread.turns[-1]["status"], "waitingApproval")
            async with connect(self.server.url, token=TOKEN, approval=accept) as second:
                await second.follow(thread.id)
                await asyncio.wait_for(withdrawn.wait(), WAIT)
            self.assertEqual((await asyncio.wait_for(turn, WAIT))["status"], "completed")
        self.assertTrue((self.workspace.files / "asked").exists())

    async def test_a_handler_that_fails_declines(self) -> None:
        async def fails(params: ApprovalRequestParams) -> ApprovalDecision:
            raise RuntimeError("no screen")

        with self.assertLogs("bobbin_client", "ERROR"):
            async with connect(self.server.url, token=TOKEN, approval=fails) as client:
                thread = await client.start_thread()
                await asyncio.wait_for(thread.ask("run `touch asked`"), WAIT)
        self.assertFalse((self.workspace.files / "asked").exists())

    async def test_a_tool_of_the_client_is_run(self) -> None:
        async def call(params: Any) -> Any:
            return {"success": True, "contentItems": [{"type": "text", "text": f"{params['arguments']} set"}]}

        timer = {
            "name": "set_timer",
            "description": "Sets a timer.",
            "inputSchema": {"type": "object", "properties": {"minutes": {"type": "integer"}}},
        }
        async with connect(self.server.url, token=TOKEN, handlers={"item/tool/call": call}) as client:
            thread = await client.start_thread(dynamicTools=[timer])
            self.assertIn("historyMode", thread.info)


class Following(ServedTest):
    async def test_a_thread_of_another_client_is_followed_with_its_past(self) -> None:
        async with connect(self.server.url, token=TOKEN) as writer, connect(self.server.url, token=TOKEN) as reader:
            mine = await writer.start_thread(displayName="Tea")
            await mine.ask("say one")
            theirs = await reader.follow(mine.id)
            self.assertIs(await reader.follow(mine.id), theirs)
            self.assertEqual(theirs.turns, mine.turns)
            await mine.ask("repeat 300 word")
            await writer.request("thread/rename", {"threadId": mine.id, "displayName": "More tea"})
            await asyncio.wait_for(theirs.until(lambda state: state.info.get("displayName") == "More tea"), WAIT)
            await same_as_stored(self, theirs)
            await writer.request("thread/rollback", {"threadId": mine.id, "numTurns": 1})
            await asyncio.wait_for(theirs.until(lambda state: len(state.turns) == 1), WAIT)
            await same_as_stored(self, theirs)
            await writer.request("thread/delete", {"threadId": mine.id})
            with self.assertRaises(Closed):
                await asyncio.wait_for(theirs.until(lambda _: False), WAIT)
            self.assertTrue(theirs.deleted)

    async def test_a_turn_in_the_middle_of_its_text_is_joined(self) -> None:
        async with connect(self.server.url, token=TOKEN) as writer, connect(self.server.url, token=TOKEN) as reader:
            mine = await writer.start_thread()
            events = mine.run("repeat 3000 word")
            async for event in events:
                if event["method"] == "item/agentMessage/delta":
                    break
            theirs = await reader.follow(mine.id)
            async for _ in events:
                pass
            await asyncio.wait_for(theirs.until(lambda state: state.running is None and bool(state.turns)), WAIT)
            await same_as_stored(self, theirs)

    async def test_an_unknown_thread_is_an_error_and_leaves_nothing(self) -> None:
        async with connect(self.server.url, token=TOKEN) as client:
            for _ in range(2):
                with self.assertRaises(RequestError):
                    await client.follow("thread_20270301_nobody")

    async def test_a_reader_that_is_too_slow_is_told_and_the_state_is_whole(self) -> None:
        from bobbin_client import EventsLost

        async with connect(self.server.url, token=TOKEN) as client:
            thread = await client.start_thread()
            with client.events(thread.id, limit=5) as events:
                await thread.ask("repeat 100 word")
                for _ in range(5):
                    await events.__anext__()
                with self.assertRaises(EventsLost):
                    await events.__anext__()
            await same_as_stored(self, thread)

    async def test_a_hundred_requests_at_once_are_answered(self) -> None:
        async with connect(self.server.url, token=TOKEN) as client:
            answers = await asyncio.gather(*(client.request("model/list") for _ in range(100)))
            self.assertEqual(len(answers), 100)
