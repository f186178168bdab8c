"""Checks that `--report FILE.json` and `bench --node-data` are what Model Explorer reads.

    model_explorer_check.py LAYLINE [MODEL.pt2...]

These are its rules as `model_explorer/graph_builder.py` and `node_data_builder.py` of its package have
them; tests/report/test_model_explorer.py holds the same files against the package itself.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
MODELS = ("mobile_block", "deit", "methods", "state_counter", "dynamic_batch")
NODE = {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata", "style"}
EDGE = {"sourceNodeId", "sourceNodeOutputId", "targetNodeInputId"}


def check_attributes(attributes):
    for attribute in attributes:
        assert set(attribute) == {"key", "value"}, attribute
        assert all(isinstance(text, str) for text in attribute.values()), attribute


def is_permute(node):
    return any(attribute["key"] == "moves" for attribute in node["attrs"])


def check_graph(graph):
    assert set(graph) == {"id", "nodes"}, graph.keys()
    ids = [node["id"] for node in graph["nodes"]]
    assert len(set(ids)) == len(ids), f"{graph['id']}: two nodes have one id"
    for node in graph["nodes"]:
        assert set(node) <= NODE, node.keys() - NODE
        assert node["id"] and node["label"]
        assert "." not in node["namespace"]
        check_attributes(node["attrs"])
        for edge in node["incomingEdges"]:
            assert set(edge) == EDGE, edge
            assert edge["sourceNodeId"] in ids, f"{graph['id']}: no node {edge['sourceNodeId']}"
        for output in node["outputsMetadata"]:
            check_attributes(output["attrs"])
        assert ("style" in node) == is_permute(node)
    assert any(node["incomingEdges"] for node in graph["nodes"])


def check_node_data(data, graph):
    assert set(data) == {"name", "gradient", "results"}, data.keys()
    assert [step["stop"] for step in data["gradient"]] == [0, 1]
    ids = {node["id"] for node in graph["nodes"]}
    for node, result in data["results"].items():
        assert node in ids, f"{graph['id']}: no node {node}"
        assert set(result) == {"value"} and isinstance(result["value"], (int, float)), result


def check_report(report):
    assert isinstance(report["label"], str)
    graphs = {graph["id"]: graph for graph in report["graphs"]}
    sides = [f"{method} {side}" for side in ("after", "before") for method in report["methods"]]
    assert list(graphs) == sides, list(graphs)
    permutes = {"before": [], "after": []}
    for name, graph in graphs.items():
        check_graph(graph)
        check_node_data(report[name], graph)
        found = [node for node in graph["nodes"] if is_permute(node)]
        assert set(report[name]["results"]) == {node["id"] for node in found}
        permutes[name.rsplit(" ", 1)[1]] += found
    counts = report["permutes"]
    assert len(permutes["before"]) == counts["source"] + counts["implied"]
    assert len(permutes["after"]) == counts["final"]
    # Each that is left says what forces it, as the survivors do.
    told = sorted(a["value"] for node in permutes["after"] for a in node["attrs"] if a["key"] == "forced by")
    assert told == sorted(" and ".join(survivor["forced_by"]) for survivor in counts["survivors"])
    return graphs


def make_report(layline, model, folder, *options):
    path = Path(folder) / "report.json"
    command = [layline, "compile", model, "-o", Path(folder) / "program", "--report", path, *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def main():
    layline, *models = sys.argv[1:]
    models = models or [DATA / f"{model}.pt2" for model in MODELS]
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            graphs = check_report(json.loads(make_report(layline, model, folder).read_text()))
            latency = Path(folder) / "latency.json"
            method = next(iter(graphs)).rsplit(" ", 1)[0]
            command = [layline, "bench", Path(folder) / "program", "--per-op", "--method", method,
                       "--iterations", "2", "--node-data", latency]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            (name, data), = json.loads(latency.read_text()).items()
            check_node_data(data, graphs[name])
            assert len(data["results"]) > 0, "no op has a time"
            check_report(json.loads(make_report(layline, DATA / "mobile_block.pt2", folder, "--target", "tosa").read_text()))
    print(f"{len(models)} reports are graph collections and node data")


if __name__ == "__main__":
    main()
