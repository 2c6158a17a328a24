"""How long `import ptxlab` takes, beside `import numpy` alone: `python benchmarks/startup.py`."""

from __future__ import annotations

import subprocess
import sys

TIMED = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def seconds(code: str) -> float:
    """The best of seven fresh processes."""
    command = [sys.executable, "-c", TIMED.format(code)]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(7))


if __name__ == "__main__":
    alone, both = seconds("import numpy"), seconds("import ptxlab")
    print(f"import numpy   {alone * 1e3:7.1f} ms")
    print(f"import ptxlab  {both * 1e3:7.1f} ms, numpy included: {both / alone:.2f} x numpy (0.3 s asked)")
