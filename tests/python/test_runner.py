"""ExecuTorch's own runner of language models on layline's programs: from transformers to text. Skipped
where torch, transformers, tokenizers or ExecuTorch is not installed."""

import json
import re
import runpy
import string
import subprocess
import sys
from pathlib import Path

import layline
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("executorch.extension.llm.runner")
tokenizers = pytest.importorskip("tokenizers")

POSITIONS = 48
LETTERS = string.ascii_letters + string.digits
END = len(LETTERS)
PROMPT = "Layline"


@pytest.fixture(scope="module")
def model(transformers):
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=END + 1,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=POSITIONS,
        initializer_range=0.3,
        tie_word_embeddings=False,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        cache_config=dict(batch_size=1, max_cache_len=POSITIONS),
    )
    return model


@pytest.fixture(scope="module")
def program(model, tmp_path_factory):
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    step = TorchExportableModuleWithStaticCache(model, 1, POSITIONS)
    inputs = dict(
        input_ids=torch.zeros(1, 1, dtype=torch.long), cache_position=torch.tensor([0])
    )
    with torch.no_grad():
        exported = torch.export.export(step, (), inputs)
    path = tmp_path_factory.mktemp("runner") / "model.pte"
    constants = {"get_bos_id": END, "get_eos_ids": [END]}
    layline.compile(exported, llm=True, constant_methods=constants).save(path)
    return path


@pytest.fixture(scope="module")
def tokenizer(program):
    """One token for each letter."""
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={c: i for i, c in enumerate(LETTERS)}, merges=[])
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens(["<end>"])
    path = program.parent / "tokenizer.json"
    made.save(str(path))
    (program.parent / "tokenizer_config.json").write_text(
        json.dumps({"bos_token": "<end>", "eos_token": "<end>"})
    )
    return made, path


def runner_text(program, tokenizer, prompt, steps):
    """What TextLLMRunner generates, in a process of its own: it ends the process on some errors."""
    script = """
import json, sys
from executorch.extension.llm.runner import GenerationConfig, TextLLMRunner
program, tokenizer, prompt, steps, out = sys.argv[1:]
pieces = []
config = GenerationConfig(echo=False, max_new_tokens=int(steps), temperature=0.0)
TextLLMRunner(program, tokenizer).generate(prompt, config, pieces.append)
open(out, "w").write(json.dumps(pieces))
"""
    out = program.parent / "pieces.json"
    command = [sys.executable, "-c", script, program, tokenizer, prompt, steps, out]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return "".join(json.loads(out.read_text()))


def torchs_text(model, prompt, steps):
    tokens = torch.tensor([[LETTERS.index(c) for c in prompt]])
    for _ in range(steps):
        with torch.no_grad():
            token = model(input_ids=tokens, use_cache=False).logits[0, -1].argmax()
        if token == END:
            break
        tokens = torch.cat([tokens, token.view(1, 1)], 1)
    return "".join(LETTERS[t] for t in tokens[0, len(prompt) :])


def test_the_runner_generates_what_torch_does(model, program, tokenizer):
    expected = torchs_text(model, PROMPT, 24)
    assert len(set(expected)) > 3, "a text that says nothing would prove nothing"
    ours = layline.Generator(program, tokenizer[0]).run(PROMPT, 24).text
    assert ours.removesuffix("<end>") == expected
    theirs = runner_text(program, tokenizer[1], PROMPT, 24)
    assert theirs.removesuffix("<end>") == expected


def test_the_runner_ends_with_the_cache(program, tokenizer):
    """-1: as many tokens as there is room for."""
    text = runner_text(program, tokenizer[1], PROMPT, -1)
    assert len(text) == POSITIONS - len(PROMPT)


def test_the_example(transformers, tmp_path, monkeypatch, capsys):
    """examples/llm with a model that is hardly trained: both runners say the same with it."""
    pytest.importorskip("torchao")
    example = Path(__file__).parents[2] / "examples" / "llm"
    monkeypatch.syspath_prepend(str(example))
    # tests/models has a module of this name, too, and another test may have imported it.
    monkeypatch.delitem(sys.modules, "export", raising=False)
    for script, *arguments in (("train", "60"), ("export",), ("generate", "Return the")):
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", [f"{script}.py", str(tmp_path), *arguments])
        runpy.run_path(str(example / f"{script}.py"), run_name="__main__")
    shown = capsys.readouterr().out
    ours = re.findall(r"^  layline: +(.*)$", shown, re.M)
    theirs = re.findall(r"^  TextLLMRunner: +(.*)$", shown, re.M)
    assert len(ours) == 2 and ours == theirs, shown
    (same, count), (same_quantised, _) = re.findall(r"as torch's: (\d+) of (\d+);", shown)
    assert same == count and int(same_quantised) >= int(count) * 0.9, shown
