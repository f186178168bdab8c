"""Reads the text in pictures: finds lines, turns them upright and recognises their letters.

    python read_text.py MODELS [--together N] PICTURE...

MODELS is the folder rapidocr_onnxruntime/models of the package rapidocr-onnxruntime 1.4.4. A line is
printed as its four corners, its score and its text. N lines of about the same length are made equally
wide: 6, as in rapidocr, or 1, which reads spaces better.
"""

import argparse
import math
import sys
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import onnx

import layline

WIDEST = 3200  # of a line that is 48 high


def tensor(picture, width=None):
    """A picture as 1, colour, height, width, from -1 to 1; what is missing on the right is 0."""
    result = np.zeros((1, 3, picture.shape[0], width or picture.shape[1]), np.float32)
    result[0, :, :, : picture.shape[1]] = picture.transpose(2, 0, 1) / np.float32(255) * 2 - 1
    return result


# ---- Where the lines are ----

def scaled_for_detection(picture):
    """The shorter side becomes at least 736, and both a multiple of 32."""
    sides = picture.shape[:2]
    ratio = max(736 / min(sides), 1)
    height, width = (round(int(side * ratio) / 32) * 32 for side in sides)
    return cv2.resize(picture, (width, height))


def clockwise(box):
    """The corners of a box, from the top left."""
    corners = sorted(box, key=lambda p: p[0])
    left, right = sorted(corners[:2], key=lambda p: p[1]), sorted(corners[2:], key=lambda p: p[1])
    return np.array([left[0], right[0], right[1], left[1]], np.float32)


def smallest_box(points):
    """The smallest rectangle around points, and its shorter side."""
    rectangle = cv2.minAreaRect(points)
    return clockwise(cv2.boxPoints(rectangle)), min(rectangle[1])


def mean_inside(scores, box):
    mask = np.zeros(scores.shape, np.uint8)
    cv2.fillPoly(mask, [box.astype(np.int32)], 1)
    return cv2.mean(scores, mask)[0]


def grown(box):
    """Points around a box, as far away as its area and its perimeter say: the network marks the middle of a
    line. They are on whole pixels, on an arc around each corner."""
    sides = np.roll(box, -1, 0) - box
    distance = cv2.contourArea(box) * 1.6 / np.linalg.norm(sides, axis=1).sum()
    corners = np.trunc(box)
    sides = np.roll(corners, -1, 0) - corners
    away = np.arctan2(-sides[:, 0], sides[:, 1])  # from each side, as an angle
    steps_in_full = math.pi / math.acos(1 - min(0.25, distance / 4) / distance)
    points = []
    for corner, begin, end in zip(corners, np.roll(away, 1), away):
        turn = (end - begin) % (2 * math.pi)
        steps = max(round(steps_in_full * turn / (2 * math.pi)), 1)
        angles = [*(begin + np.arange(steps) * 2 * math.pi / steps_in_full), end]
        points += [corner + distance * np.array([math.cos(a), math.sin(a)]) for a in angles]
    return np.round(points).astype(np.int32)


def find_lines(scores, picture):
    """Boxes around what the network marks, in pixels of the picture."""
    mask = cv2.dilate((scores > 0.3).astype(np.uint8), np.ones((2, 2)))
    contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    height, width = picture.shape[:2]
    boxes = []
    for contour in contours[:1000]:
        box, side = smallest_box(contour)
        if side < 3 or mean_inside(scores, box) < 0.5:
            continue
        box, side = smallest_box(grown(box))
        if side < 5:
            continue
        box = np.round(box / scores.shape[::-1] * [width, height])
        box = clockwise(np.clip(box, 0, [width - 1, height - 1]))
        if min(np.linalg.norm(box[0] - box[1]), np.linalg.norm(box[0] - box[3])) >= 4:
            boxes.append(box)
    return in_reading_order(boxes)


def in_reading_order(boxes):
    """From top to bottom; what is less than 10 pixels apart, from left to right."""
    boxes = sorted(boxes, key=lambda box: (box[0][1], box[0][0]))
    for i in range(1, len(boxes)):
        while i > 0 and boxes[i][0][1] - boxes[i - 1][0][1] < 10 and boxes[i][0][0] < boxes[i - 1][0][0]:
            boxes[i - 1], boxes[i] = boxes[i], boxes[i - 1]
            i -= 1
    return boxes


# ---- One line ----

def cut_out(picture, box):
    """What is in the box, straight; a tall box lies on its side."""
    width = int(max(np.linalg.norm(box[0] - box[1]), np.linalg.norm(box[2] - box[3])))
    height = int(max(np.linalg.norm(box[0] - box[3]), np.linalg.norm(box[1] - box[2])))
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    line = cv2.warpPerspective(picture, cv2.getPerspectiveTransform(box, corners), (width, height),
                               flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return cv2.rotate(line, cv2.ROTATE_90_COUNTERCLOCKWISE) if height >= 1.5 * width else line


def scaled_line(line, widest):
    """48 high, and as wide as it gets but for the widest."""
    return cv2.resize(line, (min(math.ceil(48 * line.shape[1] / line.shape[0]), widest), 48))


def spell(scores, letters):
    """The letters with the best scores, and their mean: repeated ones and blanks (0) are left out."""
    best = scores.argmax(-1)
    kept = (best != 0) & (best != np.concatenate([[0], best[:-1]]))
    text = "".join(letters[i] for i in best[kept])
    return text, float(scores.max(-1)[kept].mean()) if text else 0


class Reader:
    def __init__(self, models):
        self.models = Path(models)
        self.turned = layline.compile(self.models / "ch_ppocr_mobile_v2.0_cls_infer.onnx", dims={
            "x.0": 1, "x.2": 48, "x.3": 192})
        recognition = self.models / "ch_PP-OCRv4_rec_infer.onnx"
        # One program for lines of any length.
        self.recognise = layline.compile(recognition, dims={
            "p2o.DynamicDimension.0": 1, "x.2": 48, "p2o.DynamicDimension.1": (320, WIDEST)})
        told = {p.key: p.value for p in onnx.load(recognition).metadata_props}
        self.letters = ["", *told["character"].splitlines(), " "]

    @cache
    def detector(self, height, width):
        return layline.compile(self.models / "ch_PP-OCRv4_det_infer.onnx", dims={
            "p2o.DynamicDimension.0": 1, "p2o.DynamicDimension.1": height,
            "p2o.DynamicDimension.2": width})

    def upright(self, line):
        (scores,) = self.turned.run(tensor(scaled_line(line, 192), 192))
        return cv2.rotate(line, cv2.ROTATE_180) if scores[0, 1] > 0.9 else line

    def read(self, picture, together):
        """Boxes, scores and texts."""
        scaled = scaled_for_detection(picture)
        (scores,) = self.detector(*scaled.shape[:2]).run(tensor(scaled))
        boxes = find_lines(scores[0, 0], picture)
        lines = [self.upright(cut_out(picture, box)) for box in boxes]
        ratios = [line.shape[1] / line.shape[0] for line in lines]
        order = np.argsort(ratios)
        found = [None] * len(lines)
        for group in (order[i: i + together] for i in range(0, len(order), together)):
            width = min(int(48 * max(320 / 48, *(ratios[i] for i in group))), WIDEST)
            for i in group:
                (scores,) = self.recognise.run(tensor(scaled_line(lines[i], width), width))
                found[i] = spell(scores[0], self.letters)
        return [(box, score, text) for box, (text, score) in zip(boxes, found) if score >= 0.5]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models")
    parser.add_argument("--together", type=int, default=6, metavar="N")
    parser.add_argument("pictures", nargs="+", metavar="picture")
    arguments = parser.parse_args()
    reader = Reader(arguments.models)
    for path in arguments.pictures:
        picture = cv2.imread(path)
        if picture is None:
            sys.exit(f"read_text: cannot read {path}")
        for box, score, text in reader.read(picture, arguments.together):
            print(*(f"{x:.0f},{y:.0f}" for x, y in box), f"{score:.3f}", text)


if __name__ == "__main__":
    main()
