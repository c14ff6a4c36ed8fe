"""``har route``: the next tool among those on offer."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from mcts_core.errors import ConfigError
from router.catalog import normalise_tools
from router.errors import ProviderError, RouterError, SettingsError, ToolListError
from router.models import (
    ActionSummary,
    HarnessState,
    RouteDecision,
    RoutingMode,
    ToolDescriptor,
)
from router.settings import Settings, load_settings

if TYPE_CHECKING:
    from router.tool_router import Record

__all__ = ["route"]

ABSTAINED: Final = 3
BAD_INPUT: Final = 2
FAILED: Final = 1
INTERRUPTED: Final = 130

FLAGS: Final = {
    "direct_execution_threshold": "--direct-threshold",
    "fallback_threshold": "--fallback-threshold",
    "mode": "--mode",
    "timeout_seconds": "--timeout",
}


@click.command("route")
@click.option("--goal", required=True, help="What the agent is to achieve.")
@click.option("--observation", help="The newest thing that it saw.")
@click.option("--last-action", metavar="TOOL", help="The tool that ran last.")
@click.option(
    "--action",
    "actions",
    multiple=True,
    metavar="TOOL=OUTCOME",
    help="A past action, oldest first; may be repeated.",
)
@click.option("--constraint", "constraints", multiple=True, help="A rule; may be repeated.")
@click.option("--tools-json", metavar="JSON", help="The tools on offer.")
@click.option("--tools", "tools_file", metavar="FILE|-", help="The same from a file or stdin.")
@click.option("--mode", type=click.Choice([mode.value for mode in RoutingMode]))
@click.option("--direct-threshold", type=float, help="Least confidence of a choice [0.85].")
@click.option(
    "--fallback-threshold", type=float, help="Below it the planner is not even asked [0.60]."
)
@click.option("--timeout", type=float, metavar="SECONDS", help="Total time of the provider [2].")
@click.option("--no-cache", is_flag=True, help="Ask anew, and keep nothing.")
@click.option(
    "--project",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder where the search for harness-router.toml begins [working directory].",
)
@click.option("--session", help="Id of the session that the decision belongs to, for its record.")
@click.option("--no-record", is_flag=True, help="Keep no record of the decision.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole decision as JSON.")
@click.option("--explain", is_flag=True, help="Show the probabilities and why.")
def route(
    *,
    goal: str,
    observation: str | None,
    last_action: str | None,
    actions: tuple[str, ...],
    constraints: tuple[str, ...],
    tools_json: str | None,
    tools_file: str | None,
    as_json: bool,
    explain: bool,
    project: Path | None,
    **options: Any,
) -> None:
    """Choose the next tool among those on offer, or abstain.

    With a key (OPENROUTER_API_KEY, or as `har config show` says) TypeSafe's Jev decides, without
    one the local selector. Tools are a JSON list of {name, description, category?, risk?,
    schema?}, or what MCP, OpenAI and Anthropic write.

    Exit codes: 0 decided, 3 abstained, 2 bad input, 1 the provider failed (mode jev_only).

    \b
    Example:
      har route --goal "Fix the failing parser test" \\
        --observation "The failure points to src/parser.py" --tools examples/tools/three.json
    """  # noqa: D301 (click wants the character itself)
    try:
        settings = _settings(project, options)
        tools = normalise_tools(_read_tools(tools_json, tools_file))
        state = HarnessState(
            goal, observation, last_action, [_action(text) for text in actions], constraints
        )
        decision = _decide(settings, state, tools, options["session"])
    except (SettingsError, ToolListError, ConfigError) as error:
        _end(str(error), BAD_INPUT)
    except ProviderError as error:
        _end(f"{error} ({error.kind})", FAILED)
    except RouterError as error:
        _end(str(error), BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    if explain:
        from router.cli.explain import explain_decision

        explain_decision(decision, tools, settings)
    elif as_json:
        click.echo(json.dumps(_whole(decision), allow_nan=False))
    else:
        click.echo(json.dumps(_short(decision), allow_nan=False))
    sys.exit(ABSTAINED if decision.fallback else 0)


def _settings(project: Path | None, options: dict[str, Any]) -> Settings:
    """The settings with what the options say."""
    settings = load_settings(project)
    given = {
        "mode": options["mode"],
        "direct_execution_threshold": options["direct_threshold"],
        "fallback_threshold": options["fallback_threshold"],
        "route_cache_size": 0 if options["no_cache"] else None,
    }
    records = settings.records
    if options["no_record"]:
        records = replace(records, enabled=False)
    given = {name: value for name, value in given.items() if value is not None}
    try:
        routing = replace(settings.routing, **given)
        provider = settings.provider
        if options["timeout"] is not None:
            provider = replace(provider, timeout_seconds=options["timeout"])
    except ConfigError as error:
        flag = FLAGS.get(error.field, error.field)
        _end(f"{flag}: got {error.got!r}, wanted {error.wanted}", BAD_INPUT)
    return replace(settings, routing=routing, provider=provider, records=records)


def _read_tools(tools_json: str | None, tools_file: str | None) -> Any:
    if (tools_json is None) == (tools_file is None):
        _end("got both or neither, wanted --tools-json or --tools", BAD_INPUT)
    name = "--tools-json"
    try:
        if tools_json is not None:
            return json.loads(tools_json)
        name = f"--tools {tools_file}"
        content = (
            sys.stdin.buffer.read() if tools_file == "-" else Path(str(tools_file)).read_bytes()
        )
        return json.loads(content)
    except OSError as error:
        _end(f"{name}: {error.strerror or 'cannot be read'}", BAD_INPUT)
    except (ValueError, RecursionError) as error:
        _end(f"{name}: wanted JSON: {error}", BAD_INPUT)


def _action(text: str) -> ActionSummary:
    tool, equals, outcome = text.partition("=")
    if not equals or not tool.strip():
        _end(f"--action: got {text!r}, wanted TOOL=OUTCOME", BAD_INPUT)
    return ActionSummary(tool.strip(), outcome.strip())


def _decide(
    settings: Settings, state: HarnessState, tools: list[ToolDescriptor], session: str | None
) -> RouteDecision:
    from router.tool_router import JevToolRouter

    routing = settings.routing
    has_key = bool(os.environ.get(settings.provider.api_key_env, "").strip())
    asks = routing.mode is RoutingMode.JEV_ONLY or (routing.mode is RoutingMode.HYBRID and has_key)
    with _record(settings, session) as record:
        if asks:
            import asyncio

            return asyncio.run(_with_provider(settings, state, tools, record))
        # Nothing waits: no event loop.
        return JevToolRouter(None, routing, record=record).route_now(state, tools)


@contextmanager
def _record(settings: Settings, session: str | None) -> Iterator["Record | None"]:
    """What keeps the decision, or None where no records are wanted."""
    if not settings.records.enabled:
        yield None
        return
    from router.decisions.places import default_path
    from router.decisions.recorder import Recorder

    key = settings.provider.api_key_env
    recorder = Recorder(default_path(), settings.records.text, key_variables=(key,))
    try:
        yield recorder.of_tools(settings.routing, session)
    finally:
        recorder.close()


async def _with_provider(
    settings: Settings,
    state: HarnessState,
    tools: list[ToolDescriptor],
    record: "Record | None",
) -> RouteDecision:
    from router.providers import JevProvider
    from router.tool_router import JevToolRouter

    async with JevProvider.from_config(settings.provider) as provider:
        router = JevToolRouter(provider, settings.routing, record=record)
        try:
            return await router.route(state, tools)
        finally:
            router.close()


def _short(decision: RouteDecision) -> dict[str, Any]:
    found: dict[str, Any] = {
        "tool": decision.tool,
        "confidence": round(decision.confidence, 4),
        "fallback": decision.fallback,
    }
    if decision.fallback:
        found["reason"] = decision.fallback_reason
    return found


def _whole(decision: RouteDecision) -> dict[str, Any]:
    answer = decision.answer
    usage = answer.usage if answer else None
    return {
        "tool": decision.tool,
        "category": decision.category,
        "confidence": decision.confidence,
        "margin": decision.margin,
        "probabilities": dict(decision.probabilities),
        "none_fits": decision.none_fits,
        "fallback": decision.fallback,
        "fallback_reason": decision.fallback_reason,
        "source": decision.source,
        "provider_error": decision.provider_error,
        "version": decision.version,
        "model": answer.model if answer else None,
        "provider_confidence": answer.confidence if answer else None,
        "request_id": answer.request_id if answer else None,
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "cost": usage.cost if usage else None,
        "latency_ms": round(decision.latency_ms or 0.0, 3),
        "record_id": decision.record_id,
        "why": list(decision.why),
    }


def _end(message: str, code: int) -> NoReturn:
    click.echo(f"har route: {message}", err=True)
    sys.exit(code)
