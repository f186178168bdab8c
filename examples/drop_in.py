"""A script that lowered with ExecuTorch's Python, with layline in its place. Before:

    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    program = to_edge_transform_and_lower(
        torch.export.export(model, inputs), partitioner=[XnnpackPartitioner()]
    ).to_executorch()
    with open("model.pte", "wb") as file:
        file.write(program.buffer)

The file runs on the same, unchanged runtime.
"""

import layline
import torch

model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, stride=2, padding=1),
    torch.nn.BatchNorm2d(16),
    torch.nn.Hardswish(),
    torch.nn.Flatten(),
    torch.nn.Linear(16 * 16 * 16, 10),
).eval()
inputs = (torch.randn(1, 3, 32, 32),)

program = layline.compile(torch.export.export(model, inputs))
with open("model.pte", "wb") as file:
    file.write(program.buffer)

(output,) = program.run(*inputs)
torch.testing.assert_close(output, model(*inputs), rtol=1e-4, atol=1e-5)
print(program.explain())
