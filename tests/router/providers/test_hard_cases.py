"""The clients of decision services: closing, half-open circuits, hostile bodies, odd settings."""

import asyncio
import gzip
import json
import threading
import traceback
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from mcts_core.errors import ConfigError
from router.config import OpenRouterConfig, ProviderConfig
from router.errors import ProviderError, ProviderUnavailableError
from router.models import ChoiceDecision
from router.providers import JevProvider
from router.providers.answers import check_choice
from router.providers.breaker import CircuitBreaker
from tests.router.providers.decision_server import (
    KEY,
    Asked,
    Behaviour,
    DecisionServer,
    Wire,
    answering,
    cut_off,
    decision,
    http,
    running,
    saying,
    silent,
)
from tests.router.providers.test_client import CRITERIA, ask, error_of, failed, with_server


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)


def changed(change: Callable[[dict[str, Any]], None], **headers: str) -> Behaviour:
    """A right answer, changed."""

    async def behave(asked: Asked, wire: Wire) -> bool:
        body = json.loads(decision(asked.options, "read"))
        change(body)
        await wire.send(http(200, json.dumps(body).encode(), **headers))
        return True

    return behave


def test_closing_is_an_error_of_ours_to_those_who_wait_and_not_a_cancellation() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        asked = [asyncio.create_task(ask(provider)) for _ in range(70)]  # 64 sent, 6 wait
        while len(server.requests) < 64:
            await asyncio.sleep(0)
        await provider.aclose()
        ends = await asyncio.gather(*asked, return_exceptions=True)
        assert {type(end) for end in ends} == {ProviderUnavailableError}
        server.behaviour = answering("edit")
        assert (await ask(provider)).choice == "edit"  # closing is no verdict on the service

    with_server(silent, use)


def half_open() -> CircuitBreaker:
    """A breaker whose trial call is under way, and an older call too."""
    now = [0.0]
    breaker = CircuitBreaker("p", 1, 10.0, lambda: now[0])
    assert not breaker.enter()
    breaker.fail("server_error")
    now[0] = 11.0
    assert breaker.enter()
    return breaker


def test_an_older_call_that_ends_does_not_let_a_second_trial_through() -> None:
    breaker = half_open()
    breaker.leave(trial=False)
    breaker.fail("bad_request", trial=False)
    with pytest.raises(ProviderUnavailableError):
        breaker.enter()
    breaker.leave(trial=True)
    assert breaker.enter()


def test_calls_that_are_skipped_do_not_let_a_second_trial_through() -> None:
    now = 0.0

    async def run() -> None:
        nonlocal now
        async with running(silent) as server:
            config = OpenRouterConfig(
                url=server.url, circuit_failures=1, circuit_cooldown_seconds=5.0, timeout_seconds=60
            )
            provider = JevProvider(config, clock=lambda: now)
            asked = [asyncio.create_task(ask(provider)) for _ in range(66)]  # 2 wait for a place
            while len(server.requests) < 64:
                await asyncio.sleep(0)
            provider._breaker.fail("server_error", trial=False)
            now = 6.0
            trial = asyncio.create_task(ask(provider))
            await asyncio.sleep(0)
            for task in asked[:3]:
                task.cancel()
            await asyncio.wait(asked[64:])  # they got a place, and found the circuit open
            assert (await error_of(provider)).kind == "circuit_open"
            trial.cancel()
            await provider.aclose()
            await asyncio.gather(trial, *asked, return_exceptions=True)

    asyncio.run(run())


def test_a_call_that_was_never_sent_is_no_failure_of_the_service() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        kinds = {(await error_of(provider, deadline=provider._clock() - 1.0)).kind for _ in "12345"}
        assert kinds == {"timeout"}
        assert not server.requests
        assert (await ask(provider)).choice == "read"

    with_server(answering(), use)


def test_a_service_cannot_ask_to_be_left_alone_for_ever() -> None:
    now = [0.0]
    breaker = CircuitBreaker("p", 1, 10.0, lambda: now[0])
    breaker.fail("rate_limited", open_for=1e300)
    now[0] = 3601.0
    assert not breaker.is_open


HUGE_NUMBERS: dict[str, Callable[[dict[str, Any]], None]] = {
    "probability": lambda body: body["answers"]["next"]["probabilities"].update(read=10**400),
    "confidence": lambda body: body["answers"]["next"].update(confidence=10**400),
}


@pytest.mark.parametrize("name", HUGE_NUMBERS)
def test_an_integer_beyond_every_float_is_no_answer(name: str) -> None:
    assert failed(changed(HUGE_NUMBERS[name]))[0].kind == "invalid_response"


@pytest.mark.parametrize("number", [10**400, -1, float("1e999"), True])
def test_a_count_or_cost_that_makes_no_sense_is_unknown(number: Any) -> None:
    # An infinite float cannot be written as JSON by us: the service writes it as 1e999.
    async def behave(asked: Asked, wire: Wire) -> bool:
        body = json.loads(decision(asked.options, "read"))
        body["usage"] = {"input_tokens": "#", "output_tokens": "#", "cost": "#"}
        text = "1e999" if number == float("inf") else json.dumps(number)
        await wire.send(http(200, json.dumps(body).replace('"#"', text).encode()))
        return True

    async def use(provider: JevProvider, server: DecisionServer) -> None:
        usage = (await ask(provider)).usage
        assert (usage.input_tokens, usage.output_tokens, usage.cost) == (None, None, None)

    with_server(behave, use)


def test_all_zeros_are_no_distribution_however_many_options_there_are() -> None:
    criteria = dict.fromkeys(map(str, range(255)))
    zeros = dict.fromkeys(criteria, 0.0)
    with pytest.raises(ProviderError, match="sum"):
        check_choice(ChoiceDecision("7", zeros), criteria, "p")


def test_a_message_stays_short_however_much_the_service_says() -> None:
    many = {f"option {i}": 0.0 for i in range(20_000)}
    error, _ = failed(changed(lambda body: body["answers"]["next"].update(probabilities=many)))
    assert error.kind == "invalid_response"
    assert len(str(error)) < 400


def test_what_a_service_says_cannot_steer_a_terminal() -> None:
    told = json.dumps({"error": {"message": "\x1b[2J\x07 gone \ud800"}}).encode()
    error, _ = failed(saying(500, told))
    assert "gone" in str(error)
    assert str(error).isprintable()


def test_a_build_or_id_that_is_no_text_to_print_is_cleaned() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        found = await ask(provider)
        assert f"{found.model}{found.request_id}".isprintable()

    with_server(changed(lambda body: body.update(model="\ud800\x1b[2J", id="a\nb")), use)


def test_a_key_that_the_service_echoes_is_nowhere_in_answer_or_error() -> None:
    error, _ = failed(answering(KEY))
    assert KEY not in str(error) + repr(vars(error))

    async def use(provider: JevProvider, server: DecisionServer) -> None:
        assert KEY not in repr(await ask(provider))

    with_server(changed(lambda body: body.update(model=f"m {KEY}", id=KEY)), use)


@pytest.mark.parametrize("behaviour", [saying(401, b"{}"), cut_off, answering("delete")])
def test_local_variables_of_a_traceback_do_not_show_the_key(behaviour: Behaviour) -> None:
    error, _ = failed(behaviour)
    stack = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = [frame for frame in stack.stack if "/router/providers/" in frame.filename]
    assert KEY not in "".join(str(f.locals) for f in ours if "/tests/" not in f.filename)


def test_local_variables_of_a_refusal_do_not_show_the_key() -> None:
    async def run() -> None:
        provider = JevProvider()
        with pytest.raises(ProviderError) as caught:
            await provider.choose(state={"goal": KEY}, instructions="Which?", criteria=CRITERIA)
        assert caught.value.kind == "secret_in_payload"
        frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        ours = [frame for frame in frames.stack if "/tests/" not in frame.filename]
        assert ours
        held = [f.locals or {} for f in ours]
        assert not [1 for found in held if KEY in str({**found, "state": ""})]

    asyncio.run(run())


@pytest.mark.parametrize("kept", ["the first part", "the last part"])
def test_a_key_cut_in_two_is_not_sent_either(kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-or-v1-" + "0123456789abcdef" * 4
    monkeypatch.setenv("OPENROUTER_API_KEY", key)
    text = key[:40] + "..." if kept == "the first part" else "..." + key[-40:]

    async def use(provider: JevProvider, server: DecisionServer) -> None:
        with pytest.raises(ProviderError) as caught:
            await provider.choose(state=text, instructions="Which?", criteria=CRITERIA)
        assert caught.value.kind == "secret_in_payload"
        assert not server.requests

    with_server(answering(), use)


def test_a_key_that_json_escapes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", 'quoted"and\\slashed')

    async def use(provider: JevProvider, server: DecisionServer) -> None:
        with pytest.raises(ProviderError) as caught:
            await provider.choose(
                state='quoted"and\\slashed', instructions="Which?", criteria=CRITERIA
            )
        assert caught.value.kind == "secret_in_payload"

    with_server(answering(), use)


@pytest.mark.parametrize("key", ["sk-or-v1-0123456789", "tsk_live_0123456789"])
def test_a_key_in_the_place_of_its_variables_name_is_not_repeated(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ProviderConfig(api_key_env=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("title", ["Bücher", "two\r\nX-Other: lines"])
def test_a_title_that_no_header_can_hold_is_refused_at_once(title: str) -> None:
    with pytest.raises(ConfigError, match="app_title"):
        ProviderConfig(app_title=title)


@pytest.mark.parametrize("proxy", ["gopher://me:secret@proxy:1", "socks5://me:secret@proxy:1"])
def test_a_proxy_setting_that_cannot_be_used_is_an_error_of_ours(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)

    async def run() -> None:
        provider = JevProvider()
        await provider.prewarm()
        error = await error_of(provider)
        assert error.kind == "connection"
        assert "secret" not in str(error)
        assert error.__context__ is None
        await provider.aclose()

    asyncio.run(run())


def test_a_body_that_is_cut_off_after_its_status_is_not_paid_for_twice() -> None:
    error, requests = failed(cut_off)
    assert (error.kind, error.status, requests) == ("invalid_response", 200, 1)


def test_a_compressed_body_is_not_unpacked() -> None:
    bomb = gzip.compress(b" " * (64 << 20))
    assert len(bomb) < 1 << 17
    error, requests = failed(saying(200, bomb, content_encoding="gzip"))
    assert (error.kind, requests) == ("invalid_response", 1)


def test_cookies_are_not_kept() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        await ask(provider)
        await ask(provider)
        assert "cookie" not in server.requests[1].headers

    with_server(changed(lambda body: None, set_cookie="who=you; Path=/"), use)


def test_a_state_may_be_any_mapping() -> None:
    async def use(provider: JevProvider, server: DecisionServer) -> None:
        inner = MappingProxyType({"file": "a.py"})
        state = MappingProxyType({"goal": "fix it", "last": inner})
        await provider.choose(state=state, instructions="Which?", criteria=CRITERIA)
        assert server.requests[0].body["state"] == {"goal": "fix it", "last": {"file": "a.py"}}

    with_server(answering(), use)


def test_two_event_loops_at_once_keep_their_own_connections() -> None:
    connections: list[int] = []
    turns = threading.Barrier(2, timeout=60)
    shared: list[JevProvider] = []

    async def main(server: DecisionServer) -> None:
        provider = JevProvider(OpenRouterConfig(url=server.url, timeout_seconds=30))
        shared.append(provider)
        other = asyncio.create_task(asyncio.to_thread(asyncio.run, alternate(provider)))
        await alternate(provider)
        await other

    async def alternate(provider: JevProvider) -> None:
        for _ in range(4):
            await asyncio.to_thread(turns.wait)
            await ask(provider)
        await provider.aclose()

    async def run() -> None:
        async with running(answering()) as server:
            await main(server)
            connections.append(server.connections)

    asyncio.run(run())
    assert connections == [2]


def test_a_loop_that_has_ended_is_forgotten() -> None:
    provider: JevProvider | None = None

    async def run() -> int:
        nonlocal provider
        async with running(answering()) as server:
            if provider is None:
                provider = JevProvider(OpenRouterConfig(url=server.url, timeout_seconds=20.0))
            provider.config = OpenRouterConfig(url=server.url, timeout_seconds=20.0)
            await ask(provider)
            size = len(provider._connected)
            await provider.aclose()
            return size

    assert [asyncio.run(run()) for _ in range(3)] == [1, 1, 1]
    assert provider is not None
    assert not provider._connected
