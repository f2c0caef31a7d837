"""Writes a made model of events, one event per line. Scripts that make fixtures use it."""

import json
import pathlib
import sys


def write(path: pathlib.Path, model: dict) -> None:
    """Writes the model into a file. With `--check` among the arguments, ends the program if the file differs instead."""
    text = json.dumps(model, indent=1)
    for event in model["data"][0]["entries"]:
        text = text.replace(json.dumps(event, indent=1).replace("\n", "\n    "), json.dumps(event), 1)
    if "--check" in sys.argv[1:]:
        sys.exit(0 if path.read_text() == text + "\n" else f"{path.name} is not what {pathlib.Path(sys.argv[0]).name} writes")
    path.write_text(text + "\n")
