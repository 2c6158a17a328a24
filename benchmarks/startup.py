"""How long `import ptxlab` takes, and with it what a launch needs: `python benchmarks/startup.py`.

Beside `import numpy` alone, which both may load: a name's module is loaded when the name is first used.
"""

from __future__ import annotations

import subprocess
import sys

TIMED = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
MEASURED = ("import numpy", "import ptxlab", "import ptxlab; ptxlab.launch")


def seconds(code: str) -> float:
    """The best of seven fresh processes."""
    command = [sys.executable, "-c", TIMED.format(code)]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(7))


if __name__ == "__main__":
    alone = seconds(MEASURED[0])
    for code in MEASURED:
        taken = seconds(code)
        print(f"{code:30}{taken * 1e3:7.1f} ms, {taken / alone:.2f} x numpy")
