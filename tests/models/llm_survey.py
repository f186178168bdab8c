"""Decoder architectures of the transformers library, tiny and with random weights: each is exported by
the library's own recipe for ExecuTorch, compiled, and generates. The tokens must be torch's.

    llm_survey.py LAYLINE FOLDER [NAME...]

FOLDER keeps NAME-FORM.pt2 and NAME-FORM.json, what torch says of it; what exists is not exported
again.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import torch
from torch.export import Dim

import export
import torchvision_ops  # noqa: F401  (before transformers)

import transformers
from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM

VOCABULARY, WIDTH, LAYERS, HEADS, SHARED_HEADS = 96, 64, 2, 4, 2
PLACES, PROMPT, STEPS = 32, 5, 16
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32)
WINDOW = 6

# What each configuration has beside COMMON. An architecture that needs nothing has {}.
ARCHITECTURES = {
    "llama": {},
    "mistral": dict(sliding_window=WINDOW),
    "mixtral": dict(num_local_experts=4, num_experts_per_tok=2),
    "qwen2": {},
    "qwen2_moe": dict(**EXPERTS, shared_expert_intermediate_size=40),
    "qwen3": dict(head_dim=16),
    "qwen3_moe": dict(**EXPERTS, head_dim=16),
    "gemma": dict(head_dim=16),
    "gemma2": dict(
        head_dim=16, sliding_window=WINDOW, attn_logit_softcapping=2.0, final_logit_softcapping=3.0
    ),
    "gemma3_text": dict(
        head_dim=16,
        sliding_window=WINDOW,
        layer_types=["sliding_attention", "full_attention"],
    ),
    "gemma3n_text": dict(
        head_dim=16,
        sliding_window=WINDOW,
        num_hidden_layers=4,
        num_kv_shared_layers=2,
        layer_types=["sliding_attention", "full_attention"] * 2,
        activation_sparsity_pattern=[0.5, 0.0, 0.0, 0.0],
        vocab_size_per_layer_input=VOCABULARY,
        hidden_size_per_layer_input=16,
        laurel_rank=8,
    ),
    "gemma4_text": dict(
        head_dim=16,
        global_head_dim=16,
        sliding_window=WINDOW,
        num_hidden_layers=4,
        num_kv_shared_layers=2,
        layer_types=["sliding_attention", "full_attention"] * 2,
        vocab_size_per_layer_input=VOCABULARY,
        hidden_size_per_layer_input=16,
    ),
    "phi": {},
    "phi3": {},
    "phimoe": dict(num_local_experts=4, num_experts_per_tok=2),
    "gpt2": {},
    "gpt_neo": dict(
        attention_types=[[["global", "local"], 1]], num_layers=2, num_heads=HEADS, window_size=WINDOW
    ),
    "gpt_neox": {},
    "gptj": dict(rotary_dim=8),
    "codegen": dict(rotary_dim=8),
    "gpt_bigcode": dict(multi_query=True, num_key_value_heads=1),
    "gpt_oss": dict(
        head_dim=16, sliding_window=WINDOW, num_local_experts=4, num_experts_per_tok=2
    ),
    "falcon": dict(multi_query=True, new_decoder_architecture=False, num_key_value_heads=1),
    "bloom": {},
    "mpt": dict(d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS, max_seq_len=PLACES, use_cache=True),
    "opt": dict(ffn_dim=96, word_embed_proj_dim=WIDTH),
    "olmo": {},
    "olmo2": {},
    "olmo3": dict(
        sliding_window=WINDOW, layer_types=["sliding_attention", "full_attention"]
    ),
    "olmoe": dict(num_experts=4, num_experts_per_tok=2),
    "granite": dict(logits_scaling=0.5, residual_multiplier=0.7, embedding_multiplier=2.0),
    "granitemoe": dict(num_local_experts=4, num_experts_per_tok=2),
    "glm": dict(head_dim=16),
    "glm4": dict(head_dim=16),
    "smollm3": dict(no_rope_layers=[1, 0]),
    "stablelm": {},
    "starcoder2": dict(sliding_window=WINDOW),
    "cohere": {},
    "cohere2": dict(
        sliding_window=WINDOW, layer_types=["sliding_attention", "full_attention"]
    ),
    "deepseek_v3": dict(
        num_key_value_heads=HEADS,
        kv_lora_rank=16,
        q_lora_rank=24,
        qk_rope_head_dim=8,
        qk_nope_head_dim=8,
        v_head_dim=16,
        n_routed_experts=4,
        num_experts_per_tok=2,
        n_group=2,
        topk_group=1,
        moe_intermediate_size=32,
        first_k_dense_replace=1,
    ),
    "llama4_text": dict(
        head_dim=16,
        num_local_experts=4,
        intermediate_size_mlp=64,
        attention_chunk_size=8,
        layer_types=["chunked_attention", "full_attention"],
        no_rope_layers=[1, 0],
        moe_layers=[1],
    ),
    "helium": dict(head_dim=16),
    "nemotron": {},
    "persimmon": {},
    "exaone4": dict(
        sliding_window=WINDOW, layer_types=["sliding_attention", "full_attention"]
    ),
    "ernie4_5": dict(head_dim=16),
    "xglm": dict(d_model=WIDTH, num_layers=LAYERS, attention_heads=HEADS, ffn_dim=96),
    "biogpt": {},
    "dbrx": dict(
        d_model=WIDTH,
        n_heads=HEADS,
        n_layers=LAYERS,
        max_seq_len=PLACES,
        attn_config=dict(kv_n_heads=SHARED_HEADS, rope_theta=1e4, clip_qkv=8.0),
        ffn_config=dict(moe_num_experts=4, moe_top_k=2, ffn_hidden_size=32, hidden_size=WIDTH),
    ),
    "seed_oss": dict(head_dim=16),
    "apertus": {},
}
COMMON = dict(
    vocab_size=VOCABULARY,
    hidden_size=WIDTH,
    intermediate_size=96,
    num_hidden_layers=LAYERS,
    num_attention_heads=HEADS,
    num_key_value_heads=SHARED_HEADS,
    max_position_embeddings=PLACES,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    tie_word_embeddings=False,
)


def randomise(model):
    """Numbers of order one everywhere, so that every part of the model has a say in the tokens."""
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                if isinstance(module, torch.nn.Embedding):
                    parameter.normal_()
                elif parameter.dim() > 1:
                    parameter.normal_(std=parameter.shape[-1] ** -0.5)
                elif name == "weight":
                    parameter.uniform_(0.6, 1.4)
                else:
                    parameter.normal_(std=0.2)


def make(name):
    config = transformers.AutoConfig.for_model(name)
    names = {*config.to_dict(), *config.attribute_map}
    common = {key: value for key, value in COMMON.items() if key in names}
    config = type(config)(**(common | ARCHITECTURES[name]))
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    randomise(model)
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        cache_config=dict(batch_size=1, max_cache_len=PLACES),
    )
    return model


def torchs_tokens(model):
    """A prompt, what torch makes of each beginning of it, and what it generates, all without a cache."""
    tokens = torch.randint(3, VOCABULARY, (1, PROMPT))
    with torch.no_grad():
        firsts = model(tokens, use_cache=False).logits[0].argmax(-1)
        for _ in range(STEPS):
            token = model(tokens, use_cache=False).logits[0, -1].argmax()
            tokens = torch.cat([tokens, token.view(1, 1)], 1)
    tokens = tokens[0].tolist()
    return dict(prompt=tokens[:PROMPT], firsts=firsts.tolist(), generated=tokens[PROMPT:])


def exported_tokens(program, prompt):
    """What the exported program generates in torch, token by token: the recipe may change a model."""
    step, tokens = program.module(), list(prompt)
    with torch.no_grad():
        for place in range(PROMPT + STEPS - 1):
            logits = step(
                input_ids=torch.tensor([[tokens[place]]]), cache_position=torch.tensor([place])
            )
            if place >= PROMPT - 1:
                tokens.append(logits[0, -1].argmax().item())
    return tokens[PROMPT:]


LENGTH = Dim("length", max=PLACES - 1)
ANY_LENGTH = (4, {"input_ids": {1: LENGTH}, "cache_position": {0: LENGTH}})
# How many tokens a call takes, in the order in which the survey tries it. transformers sorts tokens by
# their experts, or gathers the matrices of each token's experts ("batched").
FORMS = {"any length": ANY_LENGTH, "batched": ANY_LENGTH, "one token": (1, None)}


def made_to_talk(name):
    """A model whose tokens are not all the same, and those tokens."""
    for attempt in range(20):
        export.seed(f"{name} {attempt}")
        model = make(name)
        facts = torchs_tokens(model)
        if len({*facts["generated"]}) > STEPS // 3:
            return model, facts
    raise RuntimeError("torch says the same over and over, which proves nothing")


def export_one(name, form, path):
    tokens, shapes = FORMS[form]
    model, facts = made_to_talk(name)
    if form == "batched":
        model.set_experts_implementation("batched_mm")
    with torch.no_grad():
        program = TorchExportableModuleForDecoderOnlyLM(model, 1, PLACES).export(
            input_ids=torch.zeros(1, tokens, dtype=torch.long),
            cache_position=torch.arange(tokens),
            dynamic_shapes=shapes,
            strict=False,
        )
    # Saved first: the caches are empty.
    torch.export.save(program, path.with_suffix(".pt2"))
    facts["exported"] = exported_tokens(program, facts["prompt"])
    path.with_suffix(".json").write_text(json.dumps(facts))


def layline_says(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
    return done.stdout


def generate(layline, path):
    """The cells of the table for an exported model, and what is wrong with its tokens."""
    facts = json.loads(path.with_suffix(".json").read_text())
    program, report = path.with_suffix(".pte"), path.with_suffix(".report.json")
    model = path.with_suffix(".pt2")
    layline_says([layline, "compile", model, "--llm", "-o", program, "--report", report])

    def tokens(count, steps):
        prompt = ",".join(map(str, facts["prompt"][:count]))
        command = [layline, "generate", program, "--prompt-ids", prompt, "--steps", steps]
        return json.loads(layline_says([*command, "--json"]))["tokens"]

    def same(ours, theirs):
        return sum(a == b for a, b in zip(ours, theirs))

    firsts = [tokens(count, 1)[0] for count in range(1, PROMPT + 1)]
    prefill = same(firsts, facts["firsts"])
    generated = tokens(PROMPT, STEPS)
    decode = same(generated, facts["generated"])
    numbers = json.loads(report.read_text())
    portable = Counter()
    for op in numbers["portable_ops"]:
        portable[op["op"]] += op["count"]
    ops = ", ".join(f"{n} {op}" for op, n in sorted(portable.items()))
    cells = ["yes", f"{prefill}/{PROMPT}", f"{decode}/{STEPS}", numbers["delegates"], ops]
    if (prefill, decode) == (PROMPT, STEPS):
        return cells, ""
    if facts["exported"] != facts["generated"]:
        ours = same(generated, facts["exported"])
        return cells, f"the recipe changes the model; as the exported program says: {ours}/{STEPS}"
    return cells, "the tokens differ"


def has_experts(name):
    return any("expert" in key for key in ARCHITECTURES[name])


def survey(layline, name, folder):
    """The rows of the table: one for each form that was tried, up to the first that is right."""
    for form in FORMS:
        if form == "batched" and not has_experts(name):
            continue
        path = folder / f"{name}-{form.replace(' ', '-')}"
        cells = ["-"] * 5
        try:
            if not path.with_suffix(".json").exists():
                export_one(name, form, path)
            cells[0] = "no"
            cells, wrong = generate(layline, path)
        except Exception as error:
            wrong = " ".join(str(error).split())[:300] or type(error).__name__
        yield form, cells, wrong
        if not wrong:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layline")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="all architectures unless given")
    arguments = parser.parse_args()
    unknown = sorted({*arguments.names} - {*ARCHITECTURES})
    if unknown:
        parser.error(f"unknown architecture: {' '.join(unknown)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    row = "{:<14} {:<11} {:>8} {:>8} {:>7} {:>9}  {}"
    print(row.format("architecture", "exported", "compiles", "prefill", "decode", "delegates", "portable ops"))
    names = arguments.names or ARCHITECTURES
    right = 0
    for name in names:
        for form, cells, wrong in survey(arguments.layline, name, arguments.folder):
            print(row.format(name, form, *cells), flush=True)
            if wrong:
                print(f"  {wrong}", flush=True)
        right += not wrong
    print(f"{right} of {len(names)} generate torch's tokens")
    sys.exit(right != len(names))


if __name__ == "__main__":
    main()
