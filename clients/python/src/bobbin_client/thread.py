"""The state of one Thread: what `thread/read` said, and each event since."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Union, cast

from .errors import BobbinError, Closed
from .events import Event
from .types import (
    ApprovalRequestPayload,
    InputPart,
    Item,
    Thread,
    TokenUsage,
    Turn,
    TurnStartParams,
    UserInputRequestPayload,
)

if TYPE_CHECKING:
    from .client import Client

Message = dict[str, Any]
Input = Union[str, Sequence[InputPart]]

ENDED = ("completed", "failed", "cancelled")
QUESTIONS = ("approvalRequest", "approvalResponse", "userInputRequest", "userInputResponse")
MOST_BUFFERED = 20_000
"""Messages that wait while a Thread is read."""
STREAMED = {
    "item/agentMessage/delta": "text",
    "item/reasoning/delta": "text",
    "item/toolCall/argumentsDelta": "argumentsText",
    "item/commandExecution/outputDelta": "aggregatedOutput",
}
"""The member of the payload that each delta continues."""


class ThreadState:
    """A Thread as it is now, through broken connections too. Made by `Client.follow`.

    Its values change in place. Copy what you want to hold on to.
    """

    def __init__(self, client: Client, thread_id: str) -> None:
        self.client = client
        self.id = thread_id
        self.info: Thread = cast(Thread, {})
        """The Thread without its Turns: title, status, runtime, queue, plan, configuration."""
        self.diffs: dict[str, str] = {}
        """The unified diff of each Turn that has changed files while it was followed."""
        self.deleted = False
        self.seq: int | None = None
        """The number of the last event that is in here."""
        self.error: Exception | None = None
        """Why this no longer follows its Thread, if it does not."""
        self._turns: list[Turn] = []
        self._usage: dict[str, TokenUsage] = {}
        self._pieces: dict[tuple[str, str, str], list[str]] = {}
        self._buffer: list[Message] | None = None
        self._changed = asyncio.Event()

    # What there is.

    @property
    def turns(self) -> list[Turn]:
        """The Turns in order, with their Items. The texts of open Items are as far as they have come."""
        for (turn_id, item_id, member), pieces in self._pieces.items():
            item = self._item(turn_id, item_id)
            if item is not None:
                payload = cast(Message, item["payload"])
                payload[member] = payload.get(member, "") + "".join(pieces)
        self._pieces.clear()
        return self._turns

    def turn(self, turn_id: str) -> Turn | None:
        """Returns one Turn."""
        return next((turn for turn in reversed(self.turns) if turn["id"] == turn_id), None)

    @property
    def items(self) -> list[Item]:
        """All Items in order."""
        return [item for turn in self.turns for item in turn.get("items", [])]

    @property
    def running(self) -> Turn | None:
        """The Turn that is not over."""
        return self._turns[-1] if self._turns and self._turns[-1]["status"] not in ENDED else None

    @property
    def approvals(self) -> list[ApprovalRequestPayload]:
        """The approvals that wait for an answer."""
        return cast(list[ApprovalRequestPayload], self._unanswered("approval"))

    @property
    def questions(self) -> list[UserInputRequestPayload]:
        """The model's questions that wait for an answer."""
        return cast(list[UserInputRequestPayload], self._unanswered("userInput"))

    def _unanswered(self, kind: str) -> list[Message]:
        waiting: dict[str, Message] = {}
        running = self.running
        for item in running.get("items", []) if running else []:
            payload = cast(Message, item["payload"])
            if item["type"] == kind + "Request":
                waiting[payload["requestId"]] = payload
            elif item["type"] == kind + "Response":
                waiting.pop(payload["requestId"], None)
        return list(waiting.values())

    @property
    def usage(self) -> TokenUsage:
        """Tokens of all Turns, those of the running one included."""
        total: TokenUsage = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
        for turn in self._turns:
            used = turn.get("tokenUsage") or self._usage.get(turn["id"])
            if used:
                total["inputTokens"] += used["inputTokens"]
                total["outputTokens"] += used["outputTokens"]
                total["totalTokens"] += used["totalTokens"]
        return total

    # Waiting for changes.

    async def changes(self) -> AsyncIterator[ThreadState]:
        """Yields this state now and after each change. Changes that come together are one, so none can pile up."""
        while True:
            changed = self._changed
            yield self
            if self.error is not None:
                raise self.error
            await changed.wait()

    async def until(self, condition: Callable[[ThreadState], bool]) -> ThreadState:
        """Waits for a state."""
        async for state in self.changes():
            if condition(state):
                break
        return self

    # Doing something.

    async def run(self, input: Input, **params: Any) -> AsyncIterator[Event]:
        """Starts a Turn and yields the events of the Thread until the Turn is over.

        `params` are further members of `turn/start`, such as `reasoningEffort`.
        """
        with self.client.events(self.id) as events:
            turn = await self.start(input, **params)
            async for event in events:
                if event["method"] == "bobbin/resynced":
                    yield event
                    if self.ended(turn["id"]):
                        return
                elif cast(Message, event["params"]).get("turnId", turn["id"]) == turn["id"]:
                    yield event
                    if event["method"] in ("turn/completed", "turn/failed", "turn/cancelled", "thread/deleted"):
                        return

    async def start(self, input: Input, **params: Any) -> Turn:
        """Starts a Turn; does not wait for it."""
        start = cast(TurnStartParams, {"threadId": self.id, "input": parts(input), **params})
        return (await self.client.request("turn/start", start))["turn"]

    async def ask(self, input: Input, **params: Any) -> Turn:
        """Runs a Turn to its end and returns it; `answer` has its text."""
        started = await self.start(input, **params)
        await self.until(lambda state: state.deleted or state.ended(started["id"]))
        turn = self.turn(started["id"])
        if turn is None:
            raise BobbinError(f"{started['id']} is gone: the Thread was deleted or rolled back")
        return turn

    def ended(self, turn_id: str) -> bool:
        """Returns whether a Turn that was started is over."""
        turn = next((turn for turn in reversed(self._turns) if turn["id"] == turn_id), None)
        # Answers come before events: a Turn that is not here has yet to come, unless a later one is here.
        return turn["status"] in ENDED if turn else any(number(turn["id"]) > number(turn_id) for turn in self._turns)

    async def enqueue(self, input: Input) -> None:
        """Has an input wait until the running Turn is over."""
        await self.client.request("turn/enqueue", {"threadId": self.id, "input": parts(input)})

    async def interrupt(self) -> None:
        """Asks the running Turn to stop."""
        await self.client.request("turn/interrupt", {"threadId": self.id, "turnId": ""})

    async def close(self) -> None:
        """Ends the following."""
        await self.client.unfollow(self)

    # Following: called by the client.

    def begin_sync(self) -> None:
        """Holds messages back until `end_sync`."""
        self._buffer = []

    def replace(self, thread: Thread, turns: list[Turn], seq: int) -> None:
        """Takes the Thread as it was read."""
        self.info, self._turns, self.seq = thread, turns, seq
        self._pieces.clear()
        self._usage.clear()
        self._notify()

    def end_sync(self) -> list[Message]:
        """Takes the messages that were held back; returns those that are news."""
        buffered, self._buffer = self._buffer or [], None
        return [message for message in buffered if self.take(message)]

    def take(self, message: Message) -> bool:
        """Takes a notification of this Thread. Returns whether it is news: to be applied now, and not a repetition."""
        if self._buffer is not None:
            if len(self._buffer) >= MOST_BUFFERED:
                raise BobbinError("too many events came while a Thread was read")
            self._buffer.append(message)
            return False
        params: Message = message["params"]
        seq = params.get("seq")
        if seq is not None:
            if self.seq is not None and seq <= self.seq:
                return False
            self.seq = seq
            self._apply(message["method"], params)
            self._notify()
        return True

    def end(self, error: Exception) -> None:
        """Ends the following from outside."""
        self.error = self.error or error
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _item(self, turn_id: str, item_id: str) -> Item | None:
        for turn in reversed(self._turns):
            if turn["id"] == turn_id:
                return next((item for item in reversed(turn.get("items", [])) if item["id"] == item_id), None)
        return None

    def _apply(self, method: str, params: Message) -> None:
        info = cast(Message, self.info)
        if method in STREAMED:
            key = (params["turnId"], params["itemId"], STREAMED[method])
            self._pieces.setdefault(key, []).append(params["delta"])
        elif method in ("item/started", "item/completed", "item/approval/resolved"):
            self._put_item(params["turnId"], params["item"])
        elif method in ("turn/started", "turn/completed", "turn/failed", "turn/cancelled"):
            self._put_turn(params["turn"])
        elif method == "item/usage/delta":
            self._add_usage(params)
            if "contextUsage" in params:
                info["contextUsage"] = params["contextUsage"]
        elif method == "turn/diff/updated":
            self.diffs[params["turnId"]] = params["diff"]
        elif method == "plan/updated":
            info["plan"] = {key: params[key] for key in ("title", "overview", "content", "todos")}
        elif method == "thread/rolledBack":
            self._drop_from(params["firstTurnId"])
            info.pop("contextUsage", None)  # No event says what it is now; the next use of the model does.
        elif method in ("thread/started", "thread/resumed"):
            thread = {key: value for key, value in params["thread"].items() if key != "turns"}
            info.update(thread)
        elif method == "thread/renamed":
            info["displayName"] = params["displayName"]
        elif method == "thread/statusChanged":
            info["status"] = params["newStatus"]
        elif method == "thread/runtimeChanged":
            info["runtime"] = params["runtime"]
        elif method == "thread/queue/updated":
            info["queuedInputs"] = params["queuedInputs"]
        elif method == "thread/deleted":
            self.deleted = True
            self.error = Closed("the Thread was deleted")

    def _put_turn(self, new: Turn) -> None:
        for key in [key for key in self._pieces if key[0] == new["id"]]:
            del self._pieces[key]
        for place, turn in enumerate(self._turns):
            if turn["id"] == new["id"]:
                self._turns[place] = new
                return
        self._turns.append(new)

    def _put_item(self, turn_id: str, new: Item) -> None:
        for key in [key for key in self._pieces if key[:2] == (turn_id, new["id"])]:
            del self._pieces[key]
        turn = next((turn for turn in reversed(self._turns) if turn["id"] == turn_id), None)
        if turn is None:
            return
        items = turn.setdefault("items", [])
        for place in range(len(items) - 1, -1, -1):
            if items[place]["id"] == new["id"]:
                items[place] = new
                break
        else:
            items.append(new)
        if new["type"] in QUESTIONS and turn["status"] not in ENDED:
            turn["status"] = "waitingApproval" if self.approvals else "waitingInput" if self.questions else "running"

    def _add_usage(self, params: Message) -> None:
        used = self._usage.setdefault(params["turnId"], {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0})
        used["inputTokens"] += params["inputTokens"]
        used["outputTokens"] += params["outputTokens"]
        used["totalTokens"] += params["inputTokens"] + params["outputTokens"]

    def _drop_from(self, first: str) -> None:
        places = [place for place, turn in enumerate(self._turns) if turn["id"] == first]
        if places:
            del self._turns[places[0] :]


def number(turn_id: str) -> int:
    """Returns the number in the id of a Turn."""
    return int(turn_id.rsplit("_", 1)[1])


def parts(input: Input) -> list[InputPart]:
    """Returns the parts of an input."""
    return [{"type": "text", "text": input}] if isinstance(input, str) else list(input)


def answer(turn: Turn) -> str:
    """Returns what the agent said in a Turn."""
    return "\n\n".join(
        item["payload"]["text"] for item in turn.get("items", []) if item["type"] == "agentMessage"
    )
