"""Finds objects in a picture and draws boxes around them.

    python find_objects.py MODEL PICTURE OUT.png

MODEL is 320n.onnx of the package nudenet 3.4.2, a YOLO network that knows faces and other parts of people. An
object is printed as its class, its score, and its box: left, top, width, height.
"""

import sys

import cv2
import numpy as np

import layline

SIDE = 320  # of the square that the network sees
CLASSES = """FEMALE_GENITALIA_COVERED FACE_FEMALE BUTTOCKS_EXPOSED FEMALE_BREAST_EXPOSED
    FEMALE_GENITALIA_EXPOSED MALE_BREAST_EXPOSED ANUS_EXPOSED FEET_EXPOSED BELLY_COVERED FEET_COVERED
    ARMPITS_COVERED ARMPITS_EXPOSED FACE_MALE BELLY_EXPOSED MALE_GENITALIA_EXPOSED ANUS_COVERED
    FEMALE_BREAST_COVERED BUTTOCKS_COVERED""".split()


def square(picture):
    """The picture in the top left of a black square, scaled, as 1, colour, height, width from 0 to 1."""
    height, width = picture.shape[:2]
    side = max(height, width)
    padded = cv2.copyMakeBorder(picture, 0, side - height, 0, side - width, cv2.BORDER_CONSTANT)
    scaled = cv2.resize(padded, (SIDE, SIDE)).astype(np.float32)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None]) * np.float32(1 / 255)


def overlap(a, b):
    """What two boxes share, relative to what they cover together."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared) if shared else 0


def find(columns, width, height):
    """Class, score and box of what the network is sure of. Each column is the middle and the size of a box,
    and a score for each class. Of boxes that overlap, only the one with the best score is kept."""
    side = max(width, height)
    scores = columns[4:].max(0)
    found = []
    for i in np.argsort(-scores, kind="stable"):
        if scores[i] <= 0.25:
            break
        x, y, w, h = columns[:4, i]
        left, top, w, h = (value * side / SIDE for value in (x - w / 2, y - h / 2, w, h))
        left, top = min(max(left, 0), width), min(max(top, 0), height)
        box = left, top, min(w, width - left), min(h, height - top)
        if all(overlap(box, other) <= 0.45 for _, _, other in found):
            found.append((CLASSES[columns[4:, i].argmax()], scores[i], box))
    return found


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: find_objects.py MODEL PICTURE OUT.png")
    model, path, out = sys.argv[1:]
    picture = cv2.imread(path)
    if picture is None:
        sys.exit(f"find_objects: cannot read {path}")
    program = layline.compile(model, dims={"batch": 1, "height": SIDE, "width": SIDE})
    (columns,) = program.run(square(picture))
    for name, score, box in find(columns[0], picture.shape[1], picture.shape[0]):
        left, top, width, height = map(int, box)
        print(name, f"{score:.3f}", left, top, width, height)
        cv2.rectangle(picture, (left, top), (left + width - 1, top + height - 1), (0, 0, 255), 2)
    cv2.imwrite(out, picture)


if __name__ == "__main__":
    main()
