"""Benchmarks: growth and prediction beside other libraries, in one process, every answer checked before its time counts."""

import os

# One thread for everybody; the variables are read when the libraries are loaded, so this stands before any import.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
