#!/usr/bin/env bash
# Compiles a model, runs it once on a random input and times it:
#   examples/compile_and_run.sh MODEL.pt2
# Get a model with torch.export.save(torch.export.export(model.eval(), inputs), "MODEL.pt2").
set -euo pipefail
model=${1:?usage: examples/compile_and_run.sh MODEL.pt2}
layline=${LAYLINE:-$(dirname "${BASH_SOURCE[0]}")/../build/layline}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

program=$scratch/$(basename "$model" .pt2).pte
"$layline" compile "$model" -o "$program"
"$layline" run "$program"
"$layline" bench "$program" --iterations 20
