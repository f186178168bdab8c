"""train.py FOLDER: trains a small Llama on the docstrings of Python's standard library, in minutes.

FOLDER gets the model and its tokenizer as `transformers` saves them."""

import ast
import sys
import sysconfig
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

END = "<end>"
VOCABULARY, LENGTH, BATCH = 1024, 96, 8


def docstrings():
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if {"site-packages", "test", "tests", "idlelib", "turtledemo"} & set(path.parts):
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                if text := ast.get_docstring(node):
                    yield " ".join(text.split("\n\n")[0].split())


def train_tokenizer(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def train(model, tokens, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, steps, pct_start=0.05)
    for step in range(steps):
        starts = torch.randint(len(tokens) - LENGTH, (BATCH,))
        batch = torch.stack([tokens[start : start + LENGTH] for start in starts])
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step(), schedule.step(), optimizer.zero_grad()
        if step % 100 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss.item():.2f}", flush=True)


def main(folder, steps=1200):
    torch.manual_seed(0)
    texts = sorted(set(docstrings()))
    tokenizer = train_tokenizer(texts)
    order = torch.randperm(len(texts)).tolist()
    ids = tokenizer.encode_batch([texts[i] + END for i in order])
    tokens = torch.tensor([token for text in ids for token in text.ids])
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.token_to_id(END),
        eos_token_id=tokenizer.token_to_id(END),
    )
    model = LlamaForCausalLM(config)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{len(texts)} docstrings, {len(tokens)} tokens, {parameters} parameters")
    train(model, tokens, steps)
    model.save_pretrained(folder)
    tokenizer.save(str(Path(folder) / "tokenizer.json"))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
