"""Fuzz one of the targets with atheris, which follows the code that inputs reach.

python tests/support/fuzzer.py TARGET [libFuzzer's options] [CORPUS]
"""

import os
import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent))

with atheris.instrument_imports(include=["elmlda", "zipfile", "gzip"]):
    from targets import TARGETS

LIMITS = ["-timeout=30", "-rss_limit_mb=2048", "-malloc_limit_mb=512", "-max_len=4096"]


def main() -> None:
    """Run until the options say so, or until an input breaks its target's contract."""
    name, *options = sys.argv[1:]
    target = TARGETS[name]
    folder = Path(tempfile.mkdtemp())
    corpus = next((Path(word) for word in options if not word.startswith("-")), None)
    if corpus is None:
        corpus = Path(tempfile.mkdtemp())
        options.append(str(corpus))
    for i, content in enumerate(target.seeds()):
        (corpus / f"seed{i}").write_bytes(content)
    os.chdir(folder)
    atheris.Setup([sys.argv[0], *LIMITS, *options], lambda content: target.check(content, folder))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
