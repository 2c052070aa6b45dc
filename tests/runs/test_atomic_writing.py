"""Files are written whole, and never through somebody else's link."""

import secrets

import pytest

from elmlda.errors import ElmldaError
from elmlda.runs.folder import TEMPORARY, write_atomically


def test_a_link_at_a_temporary_name_is_not_followed(tmp_path, monkeypatch):
    """Temporary names can't be foreseen; if one is taken all the same, nothing is written."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    monkeypatch.setattr(secrets, "token_hex", lambda _: "0")
    (tmp_path / f"{TEMPORARY}0").symlink_to(victim)
    with pytest.raises(ElmldaError):
        write_atomically(tmp_path / "report.md", b"new")
    assert victim.read_bytes() == b"mine"
    assert not (tmp_path / "report.md").exists()


def test_a_file_is_replaced_and_no_temporary_one_is_left(tmp_path):
    path = tmp_path / "report.md"
    for content in (b"one", b"two"):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["report.md"]
