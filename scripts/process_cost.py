"""What a whole process costs."""

import os
import time
from typing import NamedTuple


class Cost(NamedTuple):
    seconds: float  # from its start to its end
    processor_seconds: float  # of all its threads; the same on a machine that is busy
    peak_bytes: int  # resident


def process_cost(*command):
    """The cost of one run of a command, which must succeed."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    elapsed = time.perf_counter() - start
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return Cost(elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
