"""What figures of a benchmark depend on."""

import platform
import subprocess
from pathlib import Path


def machine(layline):
    """Processor, vector units, cores, system, and the version of the command."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    fields = {}
    for line in lines:
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    flags = set(fields.get("flags", fields.get("Features", "")).split())
    vectors = [f for f in ("asimd", "avx2", "avx512f", "avx512_vnni", "amx_tile") if f in flags]
    processor = fields.get("model name", platform.machine())
    cores = sum(line.startswith("processor") for line in lines)
    version = subprocess.run([layline, "--version"], check=True, stdout=subprocess.PIPE, text=True)
    return (
        f"{processor} ({', '.join(vectors)}), {cores} cores, {platform.system()}"
        f" {platform.release()}; {version.stdout.strip()}"
    )
