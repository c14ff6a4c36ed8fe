"""The clients of decision services, over real sockets."""

import asyncio
import gc
import json
import logging
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from router.config import OpenRouterConfig, ProviderConfig, TypeSafeConfig
from router.errors import ProviderError, ProviderTimeoutError
from router.models import ChoiceDecision, Usage
from router.providers import (
    DecisionProvider,
    JevProvider,
    MockProvider,
    OpenRouterJevProvider,
    TypeSafeJevProvider,
)
from tests.router.providers.decision_server import (
    KEY,
    Asked,
    Behaviour,
    DecisionServer,
    Gate,
    Wire,
    answering,
    cut_off,
    decision,
    endless,
    http,
    huge,
    in_turn,
    reset,
    running,
    saying,
    silent,
)

CRITERIA = {"read": "Read a file", "edit": "Edit a file", "none": None}
STATE = {"goal": "fix it", "observation": "häßlich 我"}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    monkeypatch.setenv("TYPESAFE_API_KEY", KEY)


def with_server(
    behaviour: Behaviour,
    use: Callable[[JevProvider, DecisionServer], Awaitable[Any]],
    **settings: Any,
) -> Any:
    """What ``use`` returns with a provider of a server that behaves like this."""

    async def run() -> Any:
        async with running(behaviour) as server:
            config = OpenRouterConfig(url=server.url, **{"timeout_seconds": 20.0, **settings})
            async with OpenRouterJevProvider.from_config(config) as provider:
                return await asyncio.wait_for(use(provider, server), 60)

    return asyncio.run(run())


async def ask(provider: DecisionProvider, **more: Any) -> ChoiceDecision:
    return await provider.choose(state=STATE, instructions="Which?", criteria=CRITERIA, **more)


async def error_of(provider: DecisionProvider, **more: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(provider, **more)
    return caught.value


def failed(behaviour: Behaviour, **settings: Any) -> tuple[ProviderError, int]:
    """The error of one call, and how many requests it took."""

    async def use(provider: JevProvider, server: DecisionServer) -> tuple[ProviderError, int]:
        return await error_of(provider), len(server.requests)

    found: tuple[ProviderError, int] = with_server(behaviour, use, **settings)
    return found


def answer_of(behaviour: Behaviour, **settings: Any) -> ChoiceDecision:
    async def use(provider: JevProvider, server: DecisionServer) -> ChoiceDecision:
        return await ask(provider)

    found: ChoiceDecision = with_server(behaviour, use, **settings)
    return found


def test_a_question_goes_out_and_its_answer_comes_back() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        found = await ask(provider)
        assert (found.choice, found.probabilities["read"]) == ("read", 0.93)
        assert found.confidence == pytest.approx(0.895)
        assert (found.model, found.request_id) == ("typesafe/jev-1.13-20260917", "gen-dec-1")
        assert found.usage == Usage(388, 57, 0.0000163)
        assert found.latency_ms is not None
        (asked,) = server.requests
        assert (asked.method, asked.path) == ("POST", "/api/alpha/decisions")
        assert asked.body == {
            "model": "typesafe/jev-1.13",
            "state": STATE,
            "questions": {
                "next": {"type": "choice", "instructions": "Which?", "criteria": CRITERIA}
            },
        }
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        assert "http-referer" not in asked.headers
        assert provider.requests_made == 1

    with_server(answering("read"), use)


def test_an_application_may_name_itself() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        await ask(provider)
        headers = server.requests[0].headers
        assert headers["http-referer"] == "https://example.org"
        assert headers["x-openrouter-title"] == "Example"

    with_server(answering(), use, app_url="https://example.org", app_title="Example")


def test_the_native_dialect_has_its_id_in_a_header_and_no_cost() -> None:
    async def behave(asked: Asked, wire: Wire) -> bool:
        body = json.loads(decision(asked.options, "edit"))
        del body["id"], body["provider"], body["usage"]["cost"]
        content = json.dumps(body).encode()
        await wire.send(http(200, content, x_typesafe_request_id="req-7"))
        return True

    async def run() -> None:
        async with running(behave) as server:
            config = TypeSafeConfig(url=server.url, timeout_seconds=20.0)
            async with TypeSafeJevProvider(config) as provider:
                found = await ask(provider)
                assert (found.choice, found.request_id) == ("edit", "req-7")
                assert found.usage == Usage(388, 57, None)
                assert server.requests[0].body["model"] == "jev-1.13.0"

    asyncio.run(run())


def test_optional_fields_that_are_missing_are_unknown() -> None:
    async def behave(asked: Asked, wire: Wire) -> bool:
        answer = {"type": "choice", "choice": "read"}
        content = json.dumps({"answers": {"next": answer, "other": {"type": "hologram"}}}).encode()
        await wire.send(http(200, content))
        return True

    found = answer_of(behave)
    assert replace(found, latency_ms=None) == ChoiceDecision("read")


def test_values_rounded_to_two_decimals_pass() -> None:
    rounded = {"read": 0.33999999999999997, "edit": 0.34, "none": 0.33}
    assert answer_of(answering("read", probabilities=rounded)).choice == "read"


WRONG_ANSWERS: dict[str, dict[str, Any]] = {
    "an option never offered": {"choice": "delete"},
    "a choice that is no text": {"choice": 3},
    "no choice": {"choice": ...},
    "an option too many": {"probabilities": {"read": 0.9, "edit": 0.1, "none": 0.0, "rm": 0.0}},
    "an option missing": {"probabilities": {"read": 0.9, "edit": 0.1}},
    "no options": {"probabilities": {}},
    "probabilities as a list": {"probabilities": [0.9, 0.1, 0.0]},
    "a sum of two": {"probabilities": {"read": 1.0, "edit": 1.0, "none": 0.0}},
    "a negative": {"probabilities": {"read": 1.1, "edit": -0.1, "none": 0.0}},
    "a text": {"probabilities": {"read": "0.9", "edit": 0.1, "none": 0.0}},
    "a truth value": {"probabilities": {"read": True, "edit": 0.0, "none": 0.0}},
    "not its own best": {"probabilities": {"read": 0.2, "edit": 0.8, "none": 0.0}},
    "a confidence of two": {"confidence": 2.0},
    "a confidence in words": {"confidence": "high"},
    "a yes or no": {"type": "noul", "noul": 0.93},
    "NaN": {"confidence": float("nan")},
    "infinity": {"confidence": float("inf")},
}


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_an_answer_that_breaks_the_contract_is_no_answer(name: str) -> None:
    error, requests = failed(answering("read", **WRONG_ANSWERS[name]))
    assert (error.kind, requests) == ("invalid_response", 1)


GARBAGE = {
    "nothing": b"",
    "a page": b"<html>busy</html>",
    "half a JSON": b'{"answers": {"next": {"type": "cho',
    "a number": b"1e999",
    "a list": b"[1]",
    "null": b"null",
    "not UTF-8": b'{"answers": "\xff\xfe"}',
    "depth": b"[" * 100_000,
    "no answers": b'{"answers": {}}',
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_no_answer(name: str) -> None:
    assert failed(saying(200, GARBAGE[name]))[0].kind == "invalid_response"


@pytest.mark.parametrize(
    ("behaviour", "kind", "requests"),
    [(cut_off, "invalid_response", 1), (huge, "invalid_response", 1), (reset, "connection", 2)],
)
def test_a_broken_transfer_is_no_answer(behaviour: Behaviour, kind: str, requests: int) -> None:
    error, made = failed(behaviour)
    assert (error.kind, made) == (kind, requests)


STATUSES = {
    400: "bad_request",
    401: "key_refused",
    402: "no_credit",
    403: "key_refused",
    404: "not_found",
    408: "timeout",
    413: "bad_request",
    418: "bad_request",
    422: "bad_request",
    429: "rate_limited",
    500: "server_error",
    520: "server_error",
    524: "timeout",
    301: "not_found",
    307: "not_found",
    204: "invalid_response",
}


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_is_an_error_of_its_kind_and_not_tried_again(status: int) -> None:
    content = b"" if status == 204 else b'{"error": {"code": 1, "message": "told so"}}'
    error, requests = failed(saying(status, content, x_request_id="r"))
    assert (error.kind, error.status, requests) == (STATUSES[status], status, 1)
    assert ("told so" in str(error)) == (status != 204)


@pytest.mark.parametrize("status", [502, 503, 529])
def test_an_overloaded_service_is_asked_once_more(status: int) -> None:
    assert answer_of(in_turn(saying(status, b""), answering("edit"))).choice == "edit"
    error, requests = failed(saying(status, b"busy"))
    assert (error.kind, requests) == ("overloaded", 2)
    assert failed(saying(status, b"busy"), retries=0)[1] == 1


@pytest.mark.parametrize(
    "headers", [{"retry_after": "0.01"}, {"retry_after_ms": "5"}, {"retry_after": formatdate()}]
)
def test_a_short_wait_that_the_service_names_is_kept(headers: dict[str, str]) -> None:
    behaviour = in_turn(saying(429, b"{}", **headers), answering("edit"))
    assert answer_of(behaviour).choice == "edit"


@pytest.mark.parametrize("wait", ["3600", "1e400", "soon", "-1e400"])
def test_a_wait_that_does_not_fit_or_makes_no_sense_is_not_waited_for(wait: str) -> None:
    error, requests = failed(saying(429, b"{}", retry_after=wait))
    assert (error.kind, requests) == ("rate_limited", 2 if wait == "-1e400" else 1)


def test_a_wait_that_does_not_fit_opens_the_circuit() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        first = await error_of(provider)
        assert (first.kind, first.retry_after) == ("rate_limited", 3600.0)
        assert (await error_of(provider)).kind == "circuit_open"
        assert len(server.requests) == 1

    with_server(saying(429, b"{}", retry_after="3600"), use)


def test_a_lost_connection_is_tried_once_more() -> None:
    assert answer_of(in_turn(reset, answering("edit"))).choice == "edit"


def test_an_error_inside_of_a_good_status_is_an_error() -> None:
    content = b'{"error": {"code": 402, "message": "no credit left"}, "user_id": null}'
    error, _ = failed(saying(200, content))
    assert (error.kind, error.status) == ("no_credit", 200)
    assert "no credit left" in str(error)


@pytest.mark.parametrize(
    "content",
    [
        b'{"error": "told so"}',
        b'{"message": "told so"}',
        b'{"detail": "told so"}',
        b'{"detail": {"message": "told so"}}',
        b'{"detail": [{"loc": ["state"], "msg": "told so"}]}',
    ],
)
def test_every_shape_of_an_error_is_read(content: bytes) -> None:
    assert "told so" in str(failed(saying(422, content))[0])


def test_nobody_listens() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> str:
        dead = JevProvider(replace(provider.config, url="http://127.0.0.1:9/decisions"))
        error = await error_of(dead)
        await dead.aclose()
        return error.kind

    assert with_server(silent, use) == "connection"


@pytest.mark.parametrize("behaviour", [silent, endless])
def test_one_deadline_holds_for_the_whole_call(behaviour: Behaviour) -> None:
    error, requests = failed(behaviour, timeout_seconds=0.5)
    assert isinstance(error, ProviderTimeoutError)
    assert (error.kind, requests) == ("timeout", 1)


def test_the_callers_deadline_holds_if_it_is_earlier() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> str:
        return (await error_of(provider, deadline=provider._clock() + 0.05)).kind

    assert with_server(silent, use, timeout_seconds=600.0) == "timeout"


def test_a_late_answer_is_handed_over_and_not_returned() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        late: asyncio.Future[ChoiceDecision] = asyncio.get_running_loop().create_future()
        error = await error_of(provider, on_late=late.set_result)
        assert error.kind == "timeout"
        gate.opened.set()
        assert (await late).choice == "edit"

    async def lazily(asked: Asked, wire: Wire) -> bool:
        return await gate(asked, wire)

    gate = Gate(answering("edit"))
    with_server(lazily, use, timeout_seconds=0.5)


def test_a_late_answer_that_is_wrong_is_dropped_and_so_is_a_listener_that_fails() -> None:
    heard: list[str] = []

    def listen(answer: ChoiceDecision) -> None:
        heard.append(answer.choice)
        raise RuntimeError

    async def use(provider: JevProvider, server: DecisionServer) -> None:
        for _ in range(2):
            await error_of(provider, on_late=listen)
        gate.opened.set()
        (connected,) = provider._connected.values()
        while connected._under_way:
            await asyncio.sleep(0)
        assert heard == ["read"]

    gate = Gate(in_turn(answering("delete"), answering("read")))

    async def lazily(asked: Asked, wire: Wire) -> bool:
        return await gate(asked, wire)

    with_server(lazily, use, timeout_seconds=0.5)


def test_a_caller_that_is_cancelled_leaves_nothing_behind() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        task = asyncio.create_task(ask(provider, on_late=lambda answer: None))
        while not server.requests:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while server.open:
            await asyncio.sleep(0)

    with_server(silent, use)


def test_closing_ends_what_is_under_way_and_a_later_call_works() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        await error_of(provider, on_late=lambda answer: None)
        await provider.aclose()
        while server.open:
            await asyncio.sleep(0)
        server.behaviour = answering("edit")
        assert (await ask(provider)).choice == "edit"

    with_server(silent, use, timeout_seconds=0.5)


def test_connections_are_reused_and_can_be_opened_ahead() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        await provider.prewarm()
        assert "authorization" not in server.requests[0].headers
        for _ in range(20):
            await ask(provider)
        assert (server.connections, len(server.requests)) == (1, 21)

    with_server(answering(), use)


def test_prewarming_a_dead_address_is_nobodys_trouble() -> None:
    provider = JevProvider(ProviderConfig(url="http://127.0.0.1:9/", timeout_seconds=1.0))

    async def run() -> None:
        await provider.prewarm()
        await provider.aclose()

    asyncio.run(run())


def test_many_calls_share_a_bounded_number_of_connections() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        found = await asyncio.gather(*(ask(provider) for _ in range(300)))
        assert {answer.choice for answer in found} == {"read"}
        assert server.connections <= 64

    with_server(answering(), use)


def test_a_flood_on_a_dead_service_ends_for_everybody() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        errors = await asyncio.gather(*(error_of(provider) for _ in range(3000)))
        kinds = {error.kind for error in errors}
        # "circuit_open" too, unless the machine is so slow that all time is up before.
        assert {"timeout", "saturated"} <= kinds <= {"timeout", "saturated", "circuit_open"}
        assert len(server.requests) <= 2 * 64
        assert (await error_of(provider)).kind == "circuit_open"

    with_server(silent, use, timeout_seconds=0.5)


def test_one_provider_serves_two_event_loops() -> None:
    provider: JevProvider | None = None

    async def run() -> str:
        nonlocal provider
        async with running(answering()) as server:
            config = OpenRouterConfig(url=server.url, timeout_seconds=20.0)
            if provider is None:
                provider = JevProvider(config)
            provider.config = config
            choice = (await ask(provider)).choice
            await provider.aclose()
            return choice

    assert [asyncio.run(run()) for _ in range(2)] == ["read", "read"]


def test_failures_in_a_row_open_the_circuit_and_one_trial_closes_it() -> None:
    now = 100.0

    async def run() -> None:
        nonlocal now
        async with running(saying(500, b"{}")) as server:
            config = OpenRouterConfig(url=server.url, circuit_failures=3, timeout_seconds=20.0)
            provider = JevProvider(config, clock=lambda: now)
            kinds = [(await error_of(provider)).kind for _ in range(5)]
            assert kinds == ["server_error"] * 3 + ["circuit_open"] * 2
            now += config.circuit_cooldown_seconds
            assert (await error_of(provider)).kind == "server_error"
            assert (await error_of(provider)).kind == "circuit_open"
            now += config.circuit_cooldown_seconds
            server.behaviour = answering()
            assert (await ask(provider)).choice == "read"
            assert (await ask(provider)).choice == "read"
            await provider.aclose()

    asyncio.run(run())


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_what_only_another_configuration_can_mend_switches_the_provider_off(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        assert (await error_of(provider)).kind == STATUSES[status]
        assert (await error_of(provider)).kind == "circuit_open"
        assert len(server.requests) == 1

    with_server(saying(status, b"{}"), use)
    assert len([r for r in caplog.records if r.levelno >= logging.WARNING]) == 1


def test_our_own_faults_do_not_count_against_the_service() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        kinds = {(await error_of(provider)).kind for _ in range(9)}
        assert kinds == {"bad_request"}

    with_server(saying(400, b"{}"), use)


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    if key is None:
        monkeypatch.delenv("OPENROUTER_API_KEY")
    else:
        monkeypatch.setenv("OPENROUTER_API_KEY", key)
    error, requests = failed(answering())
    assert (error.kind, requests) == ("no_key", 0)
    assert "OPENROUTER_API_KEY" in str(error)


@pytest.mark.parametrize("key", ["two words", "schlüssel", "a\nb"])
def test_a_key_that_is_none_is_not_sent(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", key)
    error, requests = failed(answering())
    assert (error.kind, requests) == ("key_refused", 0)
    assert key not in str(error)


@pytest.mark.parametrize("variable", ["OPENROUTER_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN"])
def test_a_payload_that_holds_a_key_is_not_sent(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    secret = "sk-another-987654321"
    monkeypatch.setenv(variable, secret)

    async def use(provider: JevProvider, server: DecisionServer) -> None:
        with pytest.raises(ProviderError) as caught:
            await provider.choose(
                state={"goal": f"use {secret}"}, instructions="Which?", criteria=CRITERIA
            )
        assert caught.value.kind == "secret_in_payload"
        assert secret not in str(caught.value)
        assert not server.requests

    with_server(answering(), use)


@pytest.mark.parametrize("count", [0, 1, 256])
def test_a_question_has_two_to_255_options(count: int) -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        with pytest.raises(ProviderError, match=f"got {count} options") as caught:
            await provider.choose(
                state="s", instructions="Which?", criteria={str(i): None for i in range(count)}
            )
        assert caught.value.kind == "bad_request"

    with_server(answering(), use)


@pytest.mark.parametrize("state", [{"goal": float("nan")}, {"goal": object()}])
def test_a_state_that_is_no_json_is_our_fault(state: dict[str, Any]) -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> str:
        with pytest.raises(ProviderError) as caught:
            await provider.choose(state=state, instructions="Which?", criteria=CRITERIA)
        return caught.value.kind

    assert with_server(answering(), use) == "bad_request"


LEAKS = {
    "refused": saying(401, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()),
    "echo": saying(500, f'{{"message": "Authorization: Bearer {KEY}"}}'.encode()),
    "redirect": saying(307, b"", location="http://127.0.0.1:9/steal"),
    "garbage": saying(200, KEY.encode()),
    "wrong option": answering(KEY),
    "reset": reset,
    "cut off": cut_off,
    "silent": silent,
    "busy": saying(503, b"{}"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_the_key_is_in_no_error_no_log_and_nothing_that_an_error_holds(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    error, _ = failed(LEAKS[name], timeout_seconds=0.2 if name == "silent" else 20.0)
    told = "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))
    assert KEY not in told
    assert error.__cause__ is None
    assert error.__context__ is None
    # hpack and h11 write headers at debug level; ours and httpx's own must not hold the key.
    ours = [r for r in caplog.records if r.name.split(".")[0] in ("harness_router", "httpx")]
    assert KEY not in "".join(record.getMessage() for record in ours)


def test_a_redirect_carries_the_key_nowhere() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        async with running(answering()) as thief:
            server.behaviour = saying(307, b"", location=thief.url)
            assert (await error_of(provider)).kind == "not_found"
            assert not thief.requests

    with_server(silent, use)


def test_nothing_is_left_open() -> None:
    answer_of(answering())
    gc.collect()  # a socket left open would be told as a ResourceWarning, which is an error here


def test_every_provider_keeps_the_protocol() -> None:
    answer = ChoiceDecision("read")
    providers: list[DecisionProvider] = [
        JevProvider(),
        OpenRouterJevProvider(),
        TypeSafeJevProvider(),
        MockProvider(answer),
    ]
    assert [provider.name for provider in providers] == [
        "openrouter",
        "openrouter",
        "typesafe",
        "mock",
    ]
    assert [provider.model for provider in providers[1:3]] == ["typesafe/jev-1.13", "jev-1.13.0"]
