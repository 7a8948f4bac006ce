"""Run a program with a NumPy that takes 64-bit counts on 32 bits, for `.ci/other_processor i386`.

    python .ci/wide_counts.py PROGRAM [what it is told]

There, `repeat` and `bincount` take integers of 32 bits alone, and fasttree gives them others in many places.  What it computes
is the same: counts that do not fit into 32 bits do not fit into the memory, either.
"""

import runpy
import sys
from typing import Any

import numpy as np


def narrow(value: Any) -> Any:
    """Integers as NumPy wants them for counts and places."""
    return value.astype(np.intp) if isinstance(value, np.ndarray) and value.dtype.kind in "iu" else value


repeat, bincount = np.repeat, np.bincount
np.repeat = lambda a, repeats, axis=None: repeat(a, narrow(repeats), axis)
np.bincount = lambda x, weights=None, minlength=0: bincount(narrow(np.asarray(x)), weights, minlength)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
