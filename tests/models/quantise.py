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
    """torchao: linears with 4-bit weights in groups, or with one scale for each output where `group` is
    0, activations of 8 bits chosen when it runs."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig
    from torchao.quantization.granularity import PerAxis, PerGroup

    return _torchao(
        model,
        Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=PerGroup(group) if group else PerAxis(0)
        ),
    )


def int8_weights(model):
    """torchao: linears with 8-bit weights, one scale for each output, real activations."""
    from torchao.quantization import IntxWeightOnlyConfig
    from torchao.quantization.granularity import PerAxis

    return _torchao(model, IntxWeightOnlyConfig(torch.int8, PerAxis(0)))


def _torchao(model, config):
    from torchao.quantization import quantize_
    from torchao.utils import unwrap_tensor_subclass

    quantize_(model, config)
    return unwrap_tensor_subclass(model)
