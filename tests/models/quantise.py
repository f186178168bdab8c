"""Quantises models with PyTorch's own tools, as a user of ExecuTorch would."""

import torch


def pt2e(model, inputs, is_dynamic, calibration=()):
    """PT2E with XNNPACK's quantiser: 8-bit weights, one scale for each output channel; activations
    of 8 bits with scales from `calibration` (and `inputs`), or chosen when the model runs."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    prepared = prepare_pt2e(
        torch.export.export(model, inputs).module(), XNNPACKQuantizer().set_global(config)
    )
    with torch.no_grad():
        for sample in (inputs, *calibration):
            prepared(*sample)
    return convert_pt2e(prepared)


def int4(model, group=32):
    """torchao: linears with 4-bit weights in groups, or with one scale for each output where `group`
    is 0 or does not divide the inputs; activations of 8 bits chosen when it runs."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig
    from torchao.quantization.granularity import PerAxis, PerGroup

    def divides(linear):
        return group > 0 and linear.in_features % group == 0

    def config(granularity):
        return Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=granularity
        )

    _torchao(model, config(PerGroup(group or 1)), divides)
    return _torchao(model, config(PerAxis(0)), lambda linear: not divides(linear))


def int8_weights(model):
    """torchao: linears with 8-bit weights, one scale for each output, real activations."""
    from torchao.quantization import IntxWeightOnlyConfig
    from torchao.quantization.granularity import PerAxis

    return _torchao(model, IntxWeightOnlyConfig(torch.int8, PerAxis(0)))


def _torchao(model, config, applies=lambda linear: True):
    from torchao.quantization import quantize_
    from torchao.utils import unwrap_tensor_subclass

    def is_chosen(module, name):
        return type(module) is torch.nn.Linear and applies(module)

    quantize_(model, config, is_chosen)
    return unwrap_tensor_subclass(model)
