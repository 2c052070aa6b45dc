"""Downloads: where they go, and why they fail; tests/datasets/test_remote_sets.py has mirrors."""

from pathlib import Path

import requests

from elmlda.datasets.download import _explain_failure, find_data_folder


def test_a_mirror_with_a_certificate_of_its_own():
    assert _explain_failure(requests.exceptions.SSLError()) == "its certificate is not trusted"


def test_the_folder_of_fetched_data(monkeypatch):
    monkeypatch.setenv("ELMLDA_DATA", "~/there")
    assert find_data_folder() == Path.home() / "there"
    monkeypatch.delenv("ELMLDA_DATA")
    assert find_data_folder().name == "elmlda"
