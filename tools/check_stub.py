"""Compare src/taenite/_core.pyi with what nanobind's stubgen says of the installed module; --write renews it."""

import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

STUB = Path(__file__).resolve().parents[1] / "src/taenite/_core.pyi"


def generate() -> str:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "_core.pyi"
        command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "taenite._core", "-o", str(out)]
        subprocess.run(command, check=True, cwd=folder)
        return out.read_text()


def main() -> int:
    fresh = generate()
    if "--write" in sys.argv:
        STUB.write_text(fresh)
        return 0
    committed = STUB.read_text() if STUB.exists() else ""
    diff = list(difflib.unified_diff(committed.splitlines(), fresh.splitlines(), "committed", "generated", lineterm=""))
    print("\n".join(diff) or "the stub agrees with the module")
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main())
