"""Build hook: adds the commit of the code to wheels and source distributions."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Hook that hatchling finds in this file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the record, unless the package is used in place, or has the record of an sdist."""
        machine = _load(Path(self.root, "elmlda", "machine.py"))
        code = machine.describe_code()
        if version == "editable" or not code or (machine.PACKAGE / machine.RECORD).exists():
            return
        self.folder = tempfile.TemporaryDirectory()  # deleted with the hook
        record = Path(self.folder.name, machine.RECORD)
        record.write_text(json.dumps(code), "utf-8")
        build_data["force_include"][str(record)] = f"elmlda/{machine.RECORD}"


def _load(path: Path) -> ModuleType:
    """Import a file of a package that need not be installed."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
