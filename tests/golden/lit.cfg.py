# Configuration of the golden tests. A test is a text file whose RUN lines use
#   %layline   the command under test        FileCheck   compares its input with the CHECK lines
#   %data      the fixtures                  %s, %t      this file, a scratch path of this test
import os

import lit.formats

parameters = lit_config.params

config.name = "golden"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".lay", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = parameters["scratch"]
config.substitutions = [
    ("%layline", parameters["layline"]),
    ("%data", parameters["data"]),
    (r"\bFileCheck\b", parameters["filecheck"]),
]
# The sanitizers and planted faults are told by the environment, which lit clears.
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LAYLINE_MUTANT", "LAYLINE_MUTANTS_REACHED"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
