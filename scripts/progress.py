"""A bar with an estimate of what is left, for scripts that measure for minutes."""

import sys
import time


class Progress:
    """On a terminal it moves; elsewhere it is a line a step."""

    WIDTH = 24

    def __init__(self, count):
        self.count, self.done, self.started = count, 0, time.monotonic()

    def show(self, part, text, end=None):
        done = self.done + part
        moves = sys.stderr.isatty()
        if end is None and not moves:
            return
        estimate = ""
        if 0 < done < self.count:
            left = (time.monotonic() - self.started) / done * (self.count - done)
            estimate = f", about {max(1, round(left / 60))} min left"
        full = round(self.WIDTH * done / self.count)
        bar = "#" * full + "." * (self.WIDTH - full)
        line = f"[{bar}] {text}{estimate}"
        print(f"\r{line}\033[K" if moves else line, end=end or "", file=sys.stderr, flush=True)

    def step(self, text):
        self.done += 1
        self.show(0, text, "\n")
