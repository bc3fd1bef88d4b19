"""Fail if an object compiled for one SIMD target defines a weak or unique symbol.

The linker keeps one of several weak definitions; were it the AVX-512 one, the library would crash on older
CPUs.
Usage: python tools/check_weak_symbols.py BUILD_DIRECTORY
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MERGEABLE = set("VWuvw")


def kernel_objects(build: Path) -> list[Path]:
    return sorted(p for p in build.rglob("*.o") if any(part.startswith("tn_kernels_") for part in p.parts))


def mergeable_symbols(path: Path) -> list[str]:
    text = subprocess.run(
        ["nm", "-C", "--defined-only", str(path)], check=True, capture_output=True, text=True
    ).stdout
    fields = [line.split(maxsplit=2) for line in text.splitlines()]
    return [symbol for _, kind, symbol in fields if kind in MERGEABLE]


def main(build: Path) -> int:
    objects = kernel_objects(build)
    if not objects:
        print(f"check_weak_symbols: no kernel objects under {build}", file=sys.stderr)
        return 2
    faults = [f"{path}: {symbol}" for path in objects for symbol in mergeable_symbols(path)]
    print("\n".join(faults) or f"{len(objects)} kernel objects, no weak symbols")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
