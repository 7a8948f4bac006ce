"""What programs may rely on changes only on purpose: names, signatures, defaults, attributes and errors are on record."""

import difflib
import inspect
from dataclasses import dataclass

import public_interface

import fasttree
from fasttree import CARTClassifier


def test_the_public_interface_is_the_one_on_record():
    recorded = public_interface.RECORD.read_text(encoding="utf-8").splitlines()
    changes = [
        line
        for line in difflib.unified_diff(recorded, public_interface.public_interface().splitlines(), lineterm="", n=0)
        if line[0] in "+-" and not line.startswith(("+++", "---"))
    ]
    assert not changes, (
        "The public interface has changed. If this is meant, say so in CHANGELOG.md and run "
        "`python tests/helpers/public_interface.py`:\n" + "\n".join(changes)
    )


def test_the_record_has_every_public_name_and_every_default():
    recorded = public_interface.RECORD.read_text(encoding="utf-8")
    for name in fasttree.__all__:
        assert f"fasttree.{name}" in recorded
    line = next(line for line in recorded.splitlines() if line.startswith("fasttree.CARTClassifier("))
    for name, each in inspect.signature(CARTClassifier).parameters.items():
        assert f"{name}={each.default!r}" in line
    assert "fasttree.load(source, *, max_bytes=None) raises ValueError, OSError\n" in recorded


@dataclass
class Before:
    """A class.

    Attributes
    ----------
    made : int
        A number.
    """

    taken: int = 3

    def work(self, times: int = 2) -> None:
        """Work.

        Raises
        ------
        ValueError
            Always.
        """

    @property
    def found(self) -> int:
        """A number."""
        return 1


def test_a_record_names_what_a_program_could_use(monkeypatch):
    monkeypatch.setattr(Before, "__module__", "fasttree")
    assert list(public_interface.lines_of("Before", Before)) == [
        "Before(taken=3)",
        "Before.made",
        "Before.found (read)",
        "Before.work(times=2) raises ValueError",
    ]
