"""Settings: from files and the environment to configurations, each value with where it came from.

The first source that has a value wins:

1. what a call or an option says (not this module's concern),
2. ``HARNESS_ROUTER_<SECTION>_<FIELD>`` in the environment, e.g. ``HARNESS_ROUTER_ROUTING_MODE``,
3. ``harness-router.toml`` of the project: the nearest one from the working directory upwards, not
   above the folder that holds ``.git``,
4. ``harness-router/harness-router.toml`` in the user's folder of configurations
   (``$XDG_CONFIG_HOME``, else ``~/.config``),
5. the default.

A file has the sections ``[routing]``, ``[provider]``, ``[search]`` and ``[records]``: the fields of
``RoutingConfig``, ``ProviderConfig``, ``MCTSConfig`` and ``RecordsConfig``. A project's file may
not say where a key is sent (``USERS_OWN``).
"""

import os
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_args, get_origin, get_type_hints

from mcts_core.errors import ConfigError
from router.config import (
    MCTSConfig,
    OpenRouterConfig,
    ProviderConfig,
    RecordsConfig,
    RoutingConfig,
    TypeSafeConfig,
)
from router.errors import SettingsError

__all__ = ["FILE_NAME", "SECTIONS", "Settings", "load_settings", "settings_files", "variable_of"]

FILE_NAME: Final = "harness-router.toml"
PREFIX: Final = "HARNESS_ROUTER_"
SECTIONS: Final[Mapping[str, type]] = {
    "routing": RoutingConfig,
    "provider": ProviderConfig,
    "search": MCTSConfig,
    "records": RecordsConfig,
}
PROVIDERS: Final[Mapping[str, type[ProviderConfig]]] = {
    "openrouter": OpenRouterConfig,
    "typesafe": TypeSafeConfig,
}
"""What a dialect's defaults are; another dialect has those of ``ProviderConfig``."""

USERS_OWN: Final = (
    "provider.dialect",
    "provider.url",
    "provider.api_key_env",
    "routing.cache_path",
)
"""Refused in a project's file: a project that was only cloned must not say to whom a key is sent (a
dialect brings its own address), which variable is sent, or where a file is written."""

LARGEST_FILE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """Checked configurations.

    Attributes:
        routing, provider, search, records: see their classes.
        origins: "section.field" -> where its value came from: "default", a variable's name, or a
            file's path.
        problems: what was refused and replaced by a default; empty if ``strict``.
    """

    routing: RoutingConfig
    provider: ProviderConfig
    search: MCTSConfig
    records: RecordsConfig
    origins: Mapping[str, str]
    problems: tuple[str, ...] = ()


def variable_of(section: str, field: str) -> str:
    """The environment variable that sets a field."""
    return f"{PREFIX}{section}_{field}".upper()


def settings_files(
    project: Path | None = None, environ: Mapping[str, str] | None = None
) -> tuple[Path, Path]:
    """The files that are read where they exist: the user's, and the project's, which goes before.

    Args:
        project: where the search for the project's file begins; None: the working directory.
        environ: the environment; None: the process's.
    """
    environ = os.environ if environ is None else environ
    home = Path(environ.get("HOME") or Path.home())
    folder = environ.get("XDG_CONFIG_HOME") or ""
    # A relative XDG_CONFIG_HOME is to be ignored, by its specification.
    config = Path(folder) if Path(folder).is_absolute() else home / ".config"
    return config / "harness-router" / FILE_NAME, _project_file(project or Path.cwd(), home)


def _project_file(start: Path, home: Path) -> Path:
    """The nearest file from ``start`` up to the repository's root, or where it would be."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
        if (folder / ".git").exists() or folder == home.resolve():
            break
    return start / FILE_NAME


def load_settings(
    project: Path | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    strict: bool = True,
) -> Settings:
    """The settings in force.

    Args:
        project: where the search for the project's file begins; None: the working directory.
        environ: the environment; None: the process's.
        strict: raise at the first bad value; else take its default and note the problem. A hook
            must not fail for a typing error, a person wants to hear of it.

    Raises:
        SettingsError: a bad value, an unknown section or field, a file that is no TOML; names the
            field and where it was set.
    """
    environ = os.environ if environ is None else environ
    read = _Reading(strict)
    users, projects = settings_files(project, environ)
    read.file(users, trusted=True)
    if projects != users:
        read.file(projects, trusted=False)
    read.environment(environ)
    return read.settings()


class _Reading:
    """Collects values by their precedence, lowest first, then builds the configurations."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
        self._origins: dict[str, str] = {}
        self._problems: list[str] = []

    def file(self, path: Path, *, trusted: bool) -> None:
        """Take what stands in a file; one that is not there says nothing."""
        try:
            table = _read_toml(path)
        except FileNotFoundError:
            return
        except OSError as error:
            self._refuse(f"{path}: {error.strerror or 'cannot be read'}")
            return
        except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError are ones
            self._refuse(f"{path}: {error}")
            return
        except RecursionError:
            self._refuse(f"{path}: nested too deeply")
            return
        for section, given in table.items():
            if section not in SECTIONS:
                self._refuse(f"{path}: [{section}]: got an unknown section, wanted {_known()}")
            elif not isinstance(given, dict):
                self._refuse(f"{path}: {section}: got {_shown(given)}, wanted a table")
            else:
                for field, value in given.items():
                    self._take(section, field, value, str(path), trusted)

    def environment(self, environ: Mapping[str, str]) -> None:
        """Take what the variables of our fields say; others belong to others."""
        for section, config in SECTIONS.items():
            hints = get_type_hints(config)
            for field in fields(config):
                variable = variable_of(section, field.name)
                text = environ.get(variable, "").strip()
                if not text:
                    continue
                try:
                    value = _converted(text, hints[field.name])
                except ValueError as error:
                    self._refuse(f"{variable}: got {_shown(text)}, wanted {error}")
                else:
                    self._take(section, field.name, value, variable)

    def settings(self) -> Settings:
        """The configurations of what was taken."""
        dialect = self._values["provider"].get("dialect", "openrouter")
        provider = PROVIDERS.get(dialect, ProviderConfig) if isinstance(dialect, str) else None
        return Settings(
            routing=self._built("routing", RoutingConfig),
            provider=self._built("provider", provider or ProviderConfig),
            search=self._built("search", MCTSConfig),
            records=self._built("records", RecordsConfig),
            origins={
                f"{section}.{field.name}": self._origins.get(f"{section}.{field.name}", "default")
                for section, config in SECTIONS.items()
                for field in fields(config)
            },
            problems=tuple(self._problems),
        )

    def _take(
        self, section: str, field: str, value: Any, origin: str, trusted: bool = True
    ) -> None:
        name = f"{section}.{field}"
        known = [known.name for known in fields(SECTIONS[section])]
        if field not in known:
            wanted = "one of " + ", ".join(known)
            self._refuse(f"{origin}: {name}: got an unknown field, wanted {wanted}")
        elif not trusted and name in USERS_OWN:
            wanted = f"it in your own file or in {variable_of(section, field)}"
            self._refuse(f"{origin}: {name}: got a value in a project's file, wanted {wanted}")
        elif name == "provider.api_key_env" and not _is_name(value):
            # Somebody put the key where its variable's name belongs: not repeated.
            wanted = "the name of the variable that holds the key, such as OPENROUTER_API_KEY"
            self._refuse(f"{origin}: {name}: wanted {wanted}")
        else:
            self._values[section][field] = value
            self._origins[name] = origin

    def _built(self, section: str, config: type) -> Any:
        """The configuration of a section, without what it refuses."""
        values = self._values[section]
        while True:
            try:
                return config(**values)
            except ConfigError as error:
                field = error.field.split("[")[0]
                name = f"{section}.{field}"
                origin = self._origins.pop(name, "default")
                self._refuse(f"{origin}: {name}: got {_shown(error.got)}, wanted {error.wanted}")
                if field not in values:  # two values that do not go together
                    values.clear()
                values.pop(field, None)

    def _refuse(self, message: str) -> None:
        if self._strict:
            raise SettingsError(message)
        self._problems.append(message)


def _read_toml(path: Path) -> dict[str, Any]:
    import tomllib

    with path.open("rb") as opened:
        content = opened.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"longer than {LARGEST_FILE} bytes")
    return tomllib.loads(content.decode())


def _converted(text: str, hint: Any) -> Any:
    """``text`` as a value of the annotated type. Raises ``ValueError``: what was wanted."""
    kinds = get_args(hint) if get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    if type(None) in kinds and text.lower() == "none":
        return None
    if bool in kinds:
        if text.lower() not in ("true", "false", "1", "0"):
            raise ValueError("true or false")
        return text.lower() in ("true", "1")
    for kind, wanted in ((int, "an integer"), (float, "a number")):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                raise ValueError(wanted) from None
    return text


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier() and value == value.upper()


def _known() -> str:
    return "one of " + ", ".join(f"[{section}]" for section in SECTIONS)


def _shown(value: object) -> str:
    text = repr(value.value if isinstance(value, Enum) else value)
    return text if len(text) <= 80 else f"{text[:80]}..."
