"""Tells where in a sound file somebody speaks.

    python mark_speech.py MODEL SOUND.wav

MODEL is silero_vad.onnx of the package silero-vad 6.2.3. The sound has one channel, 16 bits and 16000
samples a second, or a multiple. A stretch of speech is printed in seconds and in samples.
"""

import sys
import wave

import numpy as np

import layline

RATE, FRAME, CONTEXT = 16000, 512, 64  # the network sees a frame after the last samples before it
PAD = 480  # samples that are added on both sides of a stretch


def read(path):
    """Samples from -1 to 1, at the rate of the network."""
    with wave.open(path) as file:
        step, rest = divmod(file.getframerate(), RATE)
        if rest or step == 0 or file.getsampwidth() != 2 or file.getnchannels() != 1:
            sys.exit("mark_speech: the sound must have one channel, 16 bits and 16000 samples a second")
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    return samples[::step].astype(np.float32) / 32768


def listen(program, samples):
    """How likely speech is in each frame. What the network remembers goes from one run to the next."""
    padded = np.concatenate([np.zeros(CONTEXT), samples, np.zeros(-len(samples) % FRAME)]).astype(np.float32)
    state = np.zeros((2, 1, 128), np.float32)
    for begin in range(0, len(samples), FRAME):
        output, state = program.run(padded[None, begin: begin + CONTEXT + FRAME], state)
        yield float(output[0, 0])


def stretches(probabilities, length):
    """First and last samples, with some sound around them. Speech begins at 0.5, and ends where it stays below
    0.35 for 100 ms; what is not longer than 250 ms is left out."""
    found = []
    begin = end = None
    for at, probability in ((i * FRAME, p) for i, p in enumerate(probabilities)):
        if probability >= 0.5:
            begin, end = at if begin is None else begin, None
        elif probability < 0.35 and begin is not None:
            end = at if end is None else end
            if at - end >= RATE // 10:
                found.append((begin, end))
                begin = end = None
    if begin is not None:
        found.append((begin, length))
    return [(max(begin - PAD, 0), min(end + PAD, length))
            for begin, end in found if end - begin > RATE // 4]


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: mark_speech.py MODEL SOUND.wav")
    samples = read(sys.argv[2])
    # The sizes have no names in the model: they are called by their input and their axis.
    program = layline.compile(sys.argv[1], dims={"input.0": 1, "input.1": CONTEXT + FRAME, "state.1": 1},
                              fix={"sr": RATE})
    for begin, end in stretches(listen(program, samples), len(samples)):
        print(f"{begin / RATE:.3f} s to {end / RATE:.3f} s, samples {begin} to {end}")


if __name__ == "__main__":
    main()
