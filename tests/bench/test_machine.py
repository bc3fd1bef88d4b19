"""What a bundle says about the machine, and what it does not."""

import sys
from pathlib import Path

from taenite.bench import machine


def test_folders_of_the_installation_and_the_user_are_not_published():
    found = {
        "file": f"{sys.prefix}/lib/libblas.so",
        "more": [f"{Path.home()}/x", "/usr/lib/liblapack.so", 3, None],
    }
    wanted = {"file": "<environment>/lib/libblas.so", "more": ["~/x", "/usr/lib/liblapack.so", 3, None]}
    assert machine.portable(found) == wanted


def test_libraries_are_named_by_file_and_digest():
    import numpy as np

    assert np.linalg.inv(np.eye(2))[0, 0] == 1  # loads a BLAS, where that happens late
    libraries = machine.blas_libraries()
    assert libraries and all(len(library["sha256"]) == 64 for library in libraries)
    assert machine.digest(libraries[0]["filepath"]) == libraries[0]["sha256"]


def test_the_machine_describes_itself():
    about = machine.describe()
    assert about["logical_cpus"] >= 1 and about["affinity"] == machine.affinity()
    assert Path.home().as_posix() not in str(about["environment"])
