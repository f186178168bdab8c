"""Tiny models of every architecture that the transformers library has, with random weights.

No configuration is written by hand. The library's own default is made small by what its numbers are
called: widths, layers, heads, experts, sizes of vocabularies and images. The inputs follow from the
model's signature. A network that cannot be made this way says why.
"""

import inspect
import re

import torch
from torch import nn

import export
import torchvision_ops  # noqa: F401  (before transformers)

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

VOCABULARY, WIDTH, LAYERS, HEADS, SHARED_HEADS, EXPERTS = 96, 64, 2, 4, 2, 4
TOKENS, PLACES, SIDE = 16, 64, 32
MOST_PARAMETERS = 40_000_000


def at_most(most):
    return lambda value: min(value, most)


def always(number):
    return lambda value: number if value else value


def rules(*rows):
    return [(re.compile(pattern), change) for pattern, change in rows]


# The first pattern that is the whole name of a number says what becomes of it.
COUNTS = rules(
    (r"(.*_)?vocab(ulary)?_size(_.*)?|num_embeddings", at_most(VOCABULARY)),
    (r".*_token_(id|index)", lambda value: value if 0 <= value < VOCABULARY else VOCABULARY - 1),
    (r"num_kv_shared_layers|first_k_dense_replace|num_nextn_predict_layers", at_most(1)),
    (r"num_feat_extract_layers|num_adapter_layers|num_conv_pos_embeddings|conv_depth", at_most(16)),
    (r"(num_|n_)?(.*_)?(layers?|blocks|depth)", at_most(LAYERS)),
    (r"num_experts_per_tok|(.*_)?top_?k(_experts)?|moe_topk|moe_k", at_most(2)),
    (r"n_group|topk_group|num_expert_group", at_most(1)),
    (r"(.*_)?(num_(local_|routed_)?experts|n_routed_experts|experts)", at_most(EXPERTS)),
    (r"(.*_)?(n|num)_shared_experts", at_most(1)),
    (r"(max_.*|n_)(positions?|position_embeddings|seq_len|ctx)|(.*_)?(seq|sequence)_length", at_most(PLACES)),
    (r"sliding_window|attention_window|local_attention|attention_chunk_size", at_most(8)),
    (r"(num_|.*_)frames", at_most(4)),
    (r"num_(latents|queries|query_tokens|object_queries|detection_tokens)", at_most(8)),
)


def widths(width):
    """The rules for what makes a network wide; the heads are as many whatever the width."""
    return rules(
        (r"(.*_)?(key_value_heads|kv_heads|num_query_groups|multi_query_group_num|head_kv)", at_most(SHARED_HEADS)),
        (r"(.*_)?(heads?|n_head)", at_most(HEADS)),
        (r"(.*_)?qk_nope_head_dim|rotary_dim", always(width // HEADS // 2)),
        (r"(.*_)?(head_dim|head_size|d_kv|kv_channels)", always(width // HEADS)),
        (r"(.*_)?rank", at_most(16)),
        (
            r"(.*_)?(intermediate_(size|dim)|ffn_dim|d_ff|inner_dim|n_inner|ffn_hidden_size|hidden_dim|d_inner)(_mlp)?",
            always(2 * width),
        ),
        (
            r"(.*_)?(hidden_size|d_model|n_embd|(embed|emb|embedding|projection|model|output|latent)_dim|embedding_size"
            r"|dim|proj_size|hidden_channels|width|(qk|v)_channels|d_latents)",
            always(width),
        ),
        (r"(.*_)?(state_size|d_state)", at_most(8)),
        (r"(.*_)?n_groups|mamba_num_groups", at_most(1)),
    )


STAGE_WIDTHS = re.compile(r"(.*_)?(hidden_sizes|(embed|embedding|hidden|conv)_dims?|dims|(hidden_)?channels)")
STAGE_HEADS = re.compile(r"(.*_)?heads")
STAGE_DEPTHS = re.compile(r"(.*_)?(depths?|layers|(num_|n_)?blocks|num_layers|block_repeats)")
LAYER_KINDS = re.compile(r"(.*_)?(layer_types?|layers_block_type|block_types?)")


def is_number(value):
    return isinstance(value, int) and not isinstance(value, bool)


class Shrinking:
    """Makes the numbers of a configuration small. A shallow one keeps its widths."""

    def __init__(self, shallow, side, width):
        self.rules = COUNTS if shallow else COUNTS + widths(width)
        self.shallow, self.side, self.width = shallow, side, width

    def number(self, name, value):
        for pattern, change in self.rules:
            if pattern.fullmatch(name):
                return change(value)
        return value

    def stages(self, name, values):
        """Widths keep their proportions."""
        if STAGE_WIDTHS.fullmatch(name) and min(values) >= 16 and not self.shallow:
            return [max(16, value * 16 // min(values) // 16 * 16) for value in values]
        if STAGE_HEADS.fullmatch(name) and not self.shallow:
            return [min(value, 2) for value in values]
        if STAGE_DEPTHS.fullmatch(name):
            return [min(value, 1 if len(values) > 2 else 2) for value in values]
        if name == "mrope_section" and not self.shallow:
            half = self.width // HEADS // 2
            return [half - 2 * (half // 3), half // 3, half // 3]
        return [self.number(name.removesuffix("s"), value) for value in values]

    def settings(self, settings):
        layers = next(
            (self.number(name, settings[name]) for name in LAYER_COUNTS if is_number(settings.get(name))), 0
        )
        result = {}
        for name, value in settings.items():
            if isinstance(value, dict):
                value = self.settings(value) if all(isinstance(key, str) for key in value) else value
            elif isinstance(value, (list, tuple)) and value:
                if all(is_number(item) for item in value):
                    value = type(value)(self.stages(name, value))
                elif LAYER_KINDS.fullmatch(name) and layers:
                    # Each kind of layer, as far as there are so many, and the last as it was.
                    kinds = list(dict.fromkeys(value))
                    value = (kinds[: layers - 1] + [value[-1]] * layers)[:layers]
            elif is_number(value):
                value = self.number(name, value)
            result[name] = value
        # Keys that are made of a latent are as many as the heads.
        if "kv_lora_rank" in result and "num_key_value_heads" in result:
            result["num_key_value_heads"] = result["num_attention_heads"]
        self.fit_image(result)
        return result

    def fit_image(self, settings):
        patch = settings.get("patch_size")
        side = max(self.side, 2 * patch) if is_number(patch) else self.side
        for name in ("image_size", "img_size"):
            value = settings.get(name)
            if is_number(value):
                settings[name] = side
            elif isinstance(value, (list, tuple)) and len(value) == 2:
                settings[name] = type(value)((side, side))


LAYER_COUNTS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers")
# What a configuration says of itself, and what follows from other settings.
NOT_SETTINGS = {"transformers_version", "architectures", "dtype", "_name_or_path", "stage_names"}
NOT_SETTINGS |= {"out_features", "out_indices", "id2label", "label2id", "_out_features", "_out_indices"}


def plain(value):
    """A configuration and its parts as dictionaries."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in NOT_SETTINGS}
    return value


def tiny_config(name, shallow, side, width):
    kind = CONFIG_MAPPING[name]
    settings = Shrinking(shallow, side, width).settings(plain(kind()))
    settings.pop("model_type", None)  # parts are told apart by theirs
    config = kind(**settings)
    config.use_cache = False
    return config


class Fields(nn.Module):
    """Calls a model with its inputs by name and returns every tensor of numbers that it gives."""

    def __init__(self, model, arguments):
        super().__init__()
        self.model, self.arguments = model, arguments
        parameters = inspect.signature(model.forward).parameters
        wanted = dict(use_cache=False, return_dict=True)
        self.options = {key: value for key, value in wanted.items() if key in parameters}

    def forward(self, *inputs):
        result = self.model(**dict(zip(self.arguments, inputs)), **self.options)
        values = result.values() if hasattr(result, "values") else result
        if isinstance(values, torch.Tensor):
            values = [values]
        tensors = [value for value in values if isinstance(value, torch.Tensor) and value.is_floating_point()]
        if not tensors:
            raise ValueError("the model gives no tensor")
        return tuple(tensors)


def in_parts(config, *names):
    """The first of these settings that the configuration or a part of it has."""
    parts = [config, *(getattr(config, part, None) for part in getattr(config, "sub_configs", {}))]
    for part in parts:
        for name in names:
            value = getattr(part, name, None) if part is not None else None
            if value is not None and not isinstance(value, dict):
                return value
    return None


def image_shape(config, side):
    size = in_parts(config, "image_size", "img_size", "input_size")
    size = size if size is not None else side
    size = [size] if is_number(size) else list(size)
    channels = in_parts(config, "num_channels", "in_channels", "in_chans")
    return (channels if is_number(channels) and channels < 16 else 3, size[0], size[-1])


def tokens(count):
    return torch.randint(3, VOCABULARY - 8, (1, count))


def samples(config, side):
    """For each name of an input, tensors that may be meant by it, the likeliest first."""
    image = image_shape(config, side)
    frames = in_parts(config, "num_frames") or 4
    bins = in_parts(config, "num_mel_bins", "feature_size", "input_feat_per_channel", "input_dim") or 80
    series = in_parts(config, "num_input_channels", "input_size") or 1
    places = in_parts(config, "max_source_positions", "max_length") or PLACES
    return {
        "input_ids": [tokens(TOKENS)],
        "decoder_input_ids": [tokens(TOKENS // 2)],
        "bbox": [torch.randint(0, PLACES, (1, TOKENS, 2)).repeat(1, 1, 2)],
        "pixel_values": [torch.randn(1, *image), torch.randn(1, frames, *image)],
        "pixel_values_videos": [torch.randn(1, frames, *image)],
        "input_features": [torch.randn(1, *shape) for shape in ((bins, 2 * places), (PLACES, bins), (bins, PLACES))],
        "input_values": [torch.randn(1, 4000), torch.randn(1, 1, 4000), torch.randn(1, places, bins)],
        "spectrogram": [torch.randn(1, PLACES, bins)],
        "inputs": [tokens(TOKENS)],
        "past_values": [torch.randn(1, in_parts(config, "context_length") or PLACES, series)],
    }


def input_sets(model, config, side):
    """Sets of inputs to try: what the model calls its main input, then what else it must have."""
    parameters = inspect.signature(model.forward).parameters
    known = samples(config, side)
    required = [name for name, value in parameters.items() if value.default is value.empty and name in known]
    main = model.main_input_name if model.main_input_name in parameters else None
    first = [main] if main in known else []
    seen = set()
    for names in (
        dict.fromkeys(required + first),
        dict.fromkeys(first + ["decoder_input_ids"]),
        ["input_ids", "pixel_values"],
        ["pixel_values"],
        ["input_ids"],
        ["input_ids", "bbox"],
        ["input_ids", "input_values"],
        ["input_ids", "input_features"],
        ["pixel_values_videos"],
    ):
        names = tuple(name for name in names if name in parameters)
        if not names or names in seen or any(name not in known for name in names):
            continue
        seen.add(names)
        for which in range(max(len(known[name]) for name in names)):
            yield names, tuple(known[name][min(which, len(known[name]) - 1)] for name in names)


def class_of(name):
    kind = MODEL_MAPPING_NAMES[name]
    kind = kind if isinstance(kind, str) else kind[0]
    return getattr(transformers, kind)


def short(error):
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def count_parameters(kind, config):
    with torch.device("meta"):
        return sum(p.numel() for p in kind(config).parameters())


def make(name, width=WIDTH):
    """A model, its inputs, and what it is called."""
    kind, problems = class_of(name), []
    for shallow, side in ((False, SIDE), (False, 64), (False, 224), (True, 64), (True, 224)):
        try:
            config = tiny_config(name, shallow, side, width)
            if count_parameters(kind, config) > MOST_PARAMETERS:
                raise ValueError("too large")
            export.seed(name)
            model = kind(config).eval().float()
        except Exception as error:
            problems.append(short(error))
            continue
        export.randomise(model)
        for names, inputs in input_sets(model, config, side):
            fields = Fields(model, names).eval()
            try:
                with torch.no_grad():
                    outputs = fields(*inputs)
            except Exception as error:
                problems.append(f"{'+'.join(names)}: {short(error)}")
                continue
            if all(torch.isfinite(output).all() for output in outputs):
                return fields, inputs, kind.__name__
            problems.append("torch computes infinities or NaN")
    raise ValueError("; ".join(dict.fromkeys(problems))[:600] or "no inputs are known")


def names():
    return sorted(MODEL_MAPPING_NAMES)
