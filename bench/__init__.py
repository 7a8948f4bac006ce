"""Benchmarks of growth and prediction beside other libraries, in one process; results are checked before times count."""

import os

# One thread for all libraries, which read these variables on import.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
