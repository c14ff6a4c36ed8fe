"""Settings: precedence, conversion, refusals, and what a project may not say."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from router.config import OpenRouterConfig, ProviderConfig, RoutingConfig, TypeSafeConfig
from router.errors import SettingsError
from router.models import RoutingMode
from router.settings import (
    FILE_NAME,
    SECTIONS,
    Settings,
    load_settings,
    settings_files,
    variable_of,
)

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


class Place:
    """A user's home and a project in it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = self.home / "work" / "project"
        (self.project / ".git").mkdir(parents=True)

    def user(self, text: str) -> None:
        folder = self.home / ".config" / "harness-router"
        folder.mkdir(parents=True)
        (folder / FILE_NAME).write_text(text)

    def load(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        start: Path | None = None,
        strict: bool = True,
    ) -> Settings:
        environ = {"HOME": str(self.home), **(environ or {})}
        return load_settings(start or self.project, environ, strict=strict)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_with_nothing_set_all_are_defaults(place: Place) -> None:
    found = place.load()
    assert (found.routing, found.provider) == (RoutingConfig(), OpenRouterConfig())
    assert set(found.origins.values()) == {"default"}
    assert len(found.origins) == sum(len(fields(config)) for config in SECTIONS.values())


def test_variables_go_before_the_project_and_the_project_before_the_user(place: Place) -> None:
    place.user("[routing]\nmax_route_steps = 1\nhistory_limit = 1\nconstraint_limit = 1\n")
    (place.project / FILE_NAME).write_text("[routing]\nmax_route_steps = 2\nhistory_limit = 2\n")
    found = place.load({"HARNESS_ROUTER_ROUTING_MAX_ROUTE_STEPS": "3"})
    routing = found.routing
    assert (routing.max_route_steps, routing.history_limit, routing.constraint_limit) == (3, 2, 1)
    assert found.origins["routing.max_route_steps"] == "HARNESS_ROUTER_ROUTING_MAX_ROUTE_STEPS"
    assert found.origins["routing.history_limit"] == str(place.project / FILE_NAME)
    assert found.origins["routing.constraint_limit"].endswith(f".config/harness-router/{FILE_NAME}")
    assert found.origins["routing.mode"] == "default"


def test_the_nearest_file_up_to_the_repository_is_the_projects(place: Place) -> None:
    deep = place.project / "src" / "deep"
    deep.mkdir(parents=True)
    (place.home / "work" / FILE_NAME).write_text("[routing]\nhistory_limit = 9\n")
    assert place.load(start=deep).routing.history_limit == RoutingConfig().history_limit
    (place.project / FILE_NAME).write_text("[routing]\nhistory_limit = 3\n")
    assert place.load(start=deep).routing.history_limit == 3


@pytest.mark.parametrize("folder", ["relative", ""])
def test_a_relative_folder_of_configurations_is_ignored(place: Place, folder: str) -> None:
    users, _ = settings_files(place.project, {"HOME": "/h", "XDG_CONFIG_HOME": folder})
    assert users == Path("/h/.config/harness-router") / FILE_NAME
    users, _ = settings_files(place.project, {"HOME": "/h", "XDG_CONFIG_HOME": "/x"})
    assert users == Path("/x/harness-router") / FILE_NAME


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("ROUTING_MODE", "jev_only", "routing.mode", RoutingMode.JEV_ONLY),
        ("ROUTING_DIRECT_EXECUTION_THRESHOLD", "1", "routing.direct_execution_threshold", 1.0),
        ("ROUTING_CACHE_PATH", "/tmp/x.db", "routing.cache_path", "/tmp/x.db"),
        ("ROUTING_CACHE_PATH", "none", "routing.cache_path", None),
        ("PROVIDER_TIMEOUT_SECONDS", "0.5", "provider.timeout_seconds", 0.5),
        ("SEARCH_TIME_LIMIT_MS", "none", "search.time_limit_ms", None),
        ("SEARCH_PROVE_VALUES", "false", "search.prove_values", False),
        ("SEARCH_SIMULATIONS", " 128 ", "search.simulations", 128),
    ],
)
def test_variables_are_converted_by_the_type_of_the_field(
    place: Place, variable: str, text: str, field: str, value: object
) -> None:
    found = place.load({f"HARNESS_ROUTER_{variable}": text})
    section, name = field.split(".")
    assert getattr(getattr(found, section), name) == value


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("ROUTING_MODE", "always", "routing.mode: got 'always', wanted one of"),
        ("ROUTING_MAX_ROUTE_STEPS", "many", "MAX_ROUTE_STEPS: got 'many', wanted an integer"),
        ("PROVIDER_TIMEOUT_SECONDS", "nan", "provider.timeout_seconds: got nan"),
        ("SEARCH_PROVE_VALUES", "maybe", "got 'maybe', wanted true or false"),
        ("PROVIDER_URL", "http://example.org/", "wanted https"),
        ("PROVIDER_DIALECT", " ", None),
    ],
)
def test_a_bad_variable_is_refused_by_name_or_noted(
    place: Place, variable: str, text: str, message: str | None
) -> None:
    environ = {f"HARNESS_ROUTER_{variable}": text}
    if message is None:
        assert place.load(environ) == place.load()
        return
    with pytest.raises(SettingsError) as caught:
        place.load(environ)
    assert message in str(caught.value)
    assert f"HARNESS_ROUTER_{variable}" in str(caught.value)
    lenient = place.load(environ, strict=False)
    assert lenient.routing == RoutingConfig()
    assert len(lenient.problems) == 1
    assert message in lenient.problems[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[routing]\nmod = 'hybrid'", "routing.mod: got an unknown field, wanted one of mode,"),
        ("[rooting]\n", "[rooting]: got an unknown section, wanted one of [routing]"),
        ("routing = 3", "routing: got 3, wanted a table"),
        ("[routing]\nmax_route_steps = '3'", "routing.max_route_steps: got '3', wanted an integer"),
        ("[routing]\nmax_route_steps = true", "got True, wanted an integer"),
        ("[routing\n", FILE_NAME),
        ("[routing]\nfallback_threshold = 0.95", "routing.fallback_threshold: got 0.95"),
        ("x = '" + "y" * 2_000_000 + "'", "longer than"),
    ],
)
def test_a_bad_file_is_refused_by_place_or_noted(place: Place, text: str, message: str) -> None:
    (place.project / FILE_NAME).write_text(text)
    with pytest.raises(SettingsError) as caught:
        place.load()
    assert message in str(caught.value)
    assert str(place.project) in str(caught.value)
    lenient = place.load(strict=False)
    assert (lenient.routing, len(lenient.problems)) == (RoutingConfig(), 1)


def test_bytes_that_are_no_text_and_a_folder_in_the_way_are_told(place: Place) -> None:
    (place.project / FILE_NAME).write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match=FILE_NAME):
        place.load()
    place.user("")
    (place.home / ".config" / "harness-router" / FILE_NAME).unlink()
    (place.home / ".config" / "harness-router" / FILE_NAME).mkdir()
    assert len(place.load(strict=False).problems) == 2


@pytest.mark.parametrize(
    "line",
    [
        "[provider]\nurl = 'https://thief.example/'",
        "[provider]\napi_key_env = 'AWS_SECRET_ACCESS_KEY'",
        "[routing]\ncache_path = '/home/me/.bashrc'",
    ],
)
def test_a_project_may_not_say_where_keys_go_or_what_is_written(place: Place, line: str) -> None:
    (place.project / FILE_NAME).write_text(line)
    with pytest.raises(SettingsError, match="got a value in a project's file"):
        place.load()
    assert place.load(strict=False).provider == OpenRouterConfig()
    (place.project / FILE_NAME).unlink()
    place.user(line)
    assert place.load().problems == ()


def test_a_key_in_place_of_its_variables_name_is_not_repeated(place: Place) -> None:
    place.user("[provider]\napi_key_env = 'sk-or-v1-0123456789'")
    with pytest.raises(SettingsError) as caught:
        place.load()
    assert "sk-or" not in str(caught.value)


@pytest.mark.parametrize(
    ("dialect", "wanted"),
    [
        ("openrouter", OpenRouterConfig()),
        ("typesafe", TypeSafeConfig()),
        ("openrouter_systemone", ProviderConfig(dialect="openrouter_systemone")),
    ],
)
def test_a_dialect_brings_its_defaults(place: Place, dialect: str, wanted: ProviderConfig) -> None:
    assert place.load({"HARNESS_ROUTER_PROVIDER_DIALECT": dialect}).provider == wanted


def test_other_variables_belong_to_others(place: Place) -> None:
    others = {
        "HARNESS_ROUTER_SOCKET": "/x",
        "HARNESS_ROUTER_PRETOOL_TIMEOUT": "x",
        "HARNESS_ROUTER_CACHE": "/x",
    }
    assert place.load(others) == place.load()


def test_the_page_names_every_setting_with_its_default_and_variable() -> None:
    page = PAGE.read_text()
    for section, config in SECTIONS.items():
        for field in fields(config):
            default = getattr(config(), field.name)
            shown = "-" if default is None else str(getattr(default, "value", default))
            row = f"| `{section}.{field.name}` | {shown} | `{variable_of(section, field.name)}` |"
            assert row in page, row


def test_a_project_may_not_send_the_users_key_to_another_service(place: Place) -> None:
    place.user("[provider]\napi_key_env = 'MY_OPENROUTER_KEY'")
    (place.project / FILE_NAME).write_text("[provider]\ndialect = 'typesafe'")
    found = place.load(strict=False)
    assert found.provider == OpenRouterConfig(api_key_env="MY_OPENROUTER_KEY")
    assert len(found.problems) == 1


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000,
        "[provider]\ntimeout_seconds = 1" + "0" * 400,
    ],
)
def test_depth_and_integers_beyond_every_float_are_refused_as_other_faults(
    place: Place, text: str
) -> None:
    (place.project / FILE_NAME).write_text(text)
    with pytest.raises(SettingsError):
        place.load()
    found = place.load(strict=False)
    assert (found.provider, len(found.problems)) == (OpenRouterConfig(), 1)
