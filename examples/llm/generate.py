"""generate.py FOLDER [PROMPT]: compiles what export.py wrote and generates with layline and with
ExecuTorch's runner. Then the programs read a text of torch's, and their next token at every position is
compared with torch's."""

import sys
from pathlib import Path

import layline
import numpy
import torch
from executorch.extension.llm.runner import GenerationConfig, TextLLMRunner
from tokenizers import Tokenizer

from export import load, quantise

END, STEPS = "<end>", 32


def compile(folder, name, end):
    path = folder / f"{name}.pte"
    ends = dict(get_bos_id=end, get_eos_ids=[end])
    layline.compile(folder / f"{name}.pt2", llm=True, constant_methods=ends).save(path)
    return path


def run_with_executorch(program, tokenizer, prompt):
    pieces = []
    config = GenerationConfig(echo=False, max_new_tokens=STEPS, temperature=0.0)
    TextLLMRunner(str(program), str(tokenizer)).generate(prompt, config, pieces.append)
    return "".join(pieces).removesuffix(END)


def next_tokens(program, tokens):
    """The likeliest token after each, given all before it."""
    session = layline.Session(program)
    steps = [session.run(numpy.array([[t]]), numpy.array([i])) for i, t in enumerate(tokens)]
    return numpy.array([logits[0, -1].argmax() for (logits,) in steps])


def main(folder, prompt="Read and return"):
    folder = Path(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    models = {"float": load(folder), "8da4w": quantise(load(folder))}
    # Sampled, so that the text is long and of all kinds.
    torch.manual_seed(0)
    start = torch.tensor([tokenizer.encode(prompt).ids])
    text = models["float"].generate(start, max_new_tokens=200, do_sample=True, eos_token_id=-1)
    with torch.no_grad():
        torchs = {name: model(text).logits[0].argmax(-1).numpy() for name, model in models.items()}

    for name in models:
        program = compile(folder, name, tokenizer.token_to_id(END))
        ours = layline.Generator(program, tokenizer).run(prompt, STEPS)
        theirs = run_with_executorch(program, folder / "tokenizer.json", prompt)
        tokens = next_tokens(program, text[0].tolist())
        same, same_as_float = (tokens == torchs[name]).sum(), (tokens == torchs["float"]).sum()
        print(f"{program.name}, {program.stat().st_size / 1e6:.1f} MB")
        print(f"  layline:       {prompt}{ours.text}")
        print(f"  TextLLMRunner: {prompt}{theirs}")
        print(f"  next tokens as torch's: {same} of {len(tokens)}; as torch's in floats: {same_as_float}")


if __name__ == "__main__":
    main(*sys.argv[1:])
