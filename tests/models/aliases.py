"""Every alias of torch's operator database is read if the op is, and means the same: aliases.py OPS_MD."""

import re
import sys

import torch
from torch.testing._internal.common_methods_invocations import op_db


def aten(name):
    """aten's name of `torch.special.erf`: special_erf."""
    return name.removeprefix("torch.").removeprefix("nn.functional.").replace(".", "_")


def schemas(name):
    """Overloads by name, each with its arguments and results as text."""
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return {}
    texts = {o: str(getattr(packet, o)._schema) for o in packet.overloads() if "out" not in o.lower()}
    return {o: text.split("(", 1)[1] for o, text in texts.items() if "Dimname" not in text and "Tensor" in text}


def main():
    page = open(sys.argv[1]).read()
    ops = {op: set(names.split(", ")) for op, names in re.findall(r"^\| `aten\.(\w+)` \| ([\w, ]+) \|$", page, re.M)}
    listed = dict(re.findall(r"`aten\.(\w+)` for `aten\.(\w+)`", page))
    wrong = []
    for alias, name in listed.items():
        own, other = schemas(name), schemas(alias)
        # true_divide has fewer overloads than div, and none that differs.
        wrong += [f"{alias}.{o} is not {name}.{o}" for o in other if own.get(o) != other[o]]
    pairs = {(aten(alias.name), aten(op.name)) for op in op_db for alias in op.aliases}
    pairs = {(alias, name) for alias, name in pairs if alias != name}
    for alias, name in sorted(pairs):
        known = set(ops.get(alias, ()))
        if listed.get(alias) == name or alias == f"special_{name}":
            known |= ops.get(name, set())
        for overload in schemas(alias):
            if name in ops and overload not in known:
                wrong.append(f"{alias}.{overload} is not read, and {name} is")
    print("\n".join(wrong) or f"{len(listed)} other names, and {len(pairs)} aliases of torch, agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
