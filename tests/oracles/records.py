"""Reading a folder of derivative oracles: gzipped JSON lines, one file per operation and family.

The folder is `$TAENITE_ORACLES`, or `shared/oracles` beside the checkout.
"""

import gzip
import json
import os
from pathlib import Path

import numpy as np

SUFFIX = ".jsonl.gz"


def folder():
    beside = Path(__file__).resolve().parents[3] / "shared" / "oracles"
    return Path(os.environ.get("TAENITE_ORACLES", beside))


def file_names():
    return sorted(path.name.removesuffix(SUFFIX) for path in folder().glob("*" + SUFFIX))


def read(name):
    with gzip.open(folder() / (name + SUFFIX), "rt") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def array(stored):
    data = np.asarray(stored["data"], dtype="float64")
    if stored["dtype"].startswith("complex"):
        data = data.reshape(-1, 2) @ np.array([1.0, 1.0j])
    return data.astype(stored["dtype"]).reshape(stored["shape"])


def arrays(stored):
    return {name: array(tensor) for name, tensor in stored.items()}
