"""Language models without torch: constants, and tokens from a program."""

import layline
import numpy
import pytest

POSITIONS, PROMPT = 12, 5


@pytest.fixture
def torchs_tokens(data):
    with numpy.load(data / "llama.npz") as archive:
        return archive["generated"].tolist()


def test_constant_methods(data):
    constants = {"get_ids": [1, 2], "get_scale": 0.5, "is_small": True, "get_one": 1}
    program = layline.compile(data / "linear.pt2", constant_methods=constants)
    assert [int(x) for x in program.run(method="get_ids")] == [1, 2]
    for name, dtype, value in (
        ("get_scale", numpy.float64, 0.5),
        ("is_small", numpy.bool_, True),
        ("get_one", numpy.int64, 1),
    ):
        (output,) = program.run(method=name)
        assert output.dtype == dtype and output == value
    for wrong in ("text", [1, "2"]):
        with pytest.raises(layline.Error, match="constant method 'a'"):
            layline.compile(data / "linear.pt2", constant_methods={"a": wrong})
    with pytest.raises(layline.Error, match="the model has a method of this name"):
        layline.compile(data / "linear.pt2", constant_methods={"forward": 1})


def test_llm_says_what_is_missing(data):
    with pytest.raises(layline.Error, match="outputs; return the logits alone"):
        layline.compile(data / "llama.pt2", llm=True)


def test_generates_as_torch_does(data, torchs_tokens, tmp_path):
    program = layline.compile(
        data / "llama.pt2", constant_methods={"get_max_context_len": POSITIONS}
    )
    program.save(tmp_path / "llama.pte")
    for source in (program, program.buffer, tmp_path / "llama.pte"):
        result = layline.Generator(source).run(torchs_tokens[:PROMPT], POSITIONS - PROMPT)
        assert result.tokens == torchs_tokens[PROMPT:]
        assert result.text is None and result.prefill_seconds > 0 and result.decode_seconds > 0
    with pytest.raises(layline.Error, match="at most 8 steps"):
        layline.Generator(program).run(torchs_tokens[:PROMPT], 9)
    with pytest.raises(layline.Error, match="needs a tokenizer"):
        layline.Generator(program).run("text", 1)


def test_takes_a_tokenizer(data, torchs_tokens):
    """As those of transformers, which encode to tokens, and of tokenizers, which wrap them."""

    class Plain:
        def encode(self, text):
            return [int(word) for word in text.split()]

        def decode(self, tokens):
            return " ".join(map(str, tokens))

    class Wrapping(Plain):
        def encode(self, text):
            class Encoding:
                ids = Plain.encode(self, text)

            return Encoding

    program = layline.compile(data / "llama.pt2")
    text = Plain().decode(torchs_tokens)
    for tokenizer in (Plain(), Wrapping()):
        generator = layline.Generator(program, tokenizer, context=POSITIONS)
        result = generator.run(tokenizer.decode(torchs_tokens[:PROMPT]), POSITIONS - PROMPT)
        assert text.endswith(f" {result.text}") and len(result.tokens) == POSITIONS - PROMPT
