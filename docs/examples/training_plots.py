"""Draw what training for the expected significance changes: the histograms of two networks, and their significance by step.

    pip install torch matplotlib
    python docs/examples/training_plots.py docs/plots/training      # writes training.svg and training.png

The networks, events and workspace are those of docs/differentiable.md. A curve has a gap where a plain histogram of the
background has an empty bin, because the significance is then not defined.
"""

import pathlib
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

PAGE = pathlib.Path(__file__).parents[1] / "differentiable.md"
STEPS = 150
NAMES = {"usual": "cross-entropy", "ours": "expected significance"}
COLOURS = {"signal": "#d55e00", "background": "#999999", "usual": "#0072b2", "ours": "#d55e00"}


def tutorial():
    """Return the definitions of the tutorial, up to the training."""
    (block,) = re.findall(r"```python\n(import torch\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(block.split("\nusual = trained")[0], names)
    return names


def main(target):
    page = tutorial()
    test, training = page["test"], page["training"]

    def significance_of(network):
        with torch.no_grad():
            # Plain histograms of other events.
            return float(page["significance"](network, test, 1e-6))

    networks, courses = {}, {}
    losses = {"usual": page["cross_entropy"], "ours": lambda network: -page["significance"](network, training)}
    for name, loss in losses.items():
        course = courses[name] = []

        def noted(network, loss=loss, course=course):
            course.append(significance_of(network))
            return loss(network)

        networks[name] = page["trained"](noted, STEPS, 0.02)
        course.append(significance_of(networks[name]))
        print(f"{NAMES[name]}: expected significance {course[0]:.2f} to {course[-1]:.2f}")

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", width_ratios=[1, 1, 1.2])
    edges = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    for axis, (name, network) in zip(axes, networks.items(), strict=False):
        with torch.no_grad():
            background = page["histogram"](network, test["background"], "background", 1e-6).numpy()
            signal = page["histogram"](network, test["signal"], "signal", 1e-6).numpy()
            shifted = [page["histogram"](network, test[s], "background", 1e-6).numpy() for s in ("up", "down")]
        axis.stairs(background, edges, fill=True, color=COLOURS["background"], label="background")
        axis.stairs(background + signal, edges, baseline=background, fill=True, color=COLOURS["signal"], label="signal")
        low, high = np.minimum(*shifted), np.maximum(*shifted)
        axis.stairs(
            high, edges, baseline=low, fill=True, color="none", hatch="////", edgecolor="black", linewidth=0,
            label="background, systematic shift up and down",
        )
        axis.set(yscale="log", xlim=(0, 1), ylim=(0.5, 1500), xlabel="output of the network", title=f"trained with {NAMES[name]}")
    axes[0].set_ylabel("events")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=3, fontsize=8, frameon=False)
    for name, course in courses.items():
        axes[2].plot(course, color=COLOURS[name], label=f"trained with {NAMES[name]}")
    axes[2].set(xlabel="step", ylabel="expected significance, other events", title="sensitivity during the training", ylim=(0, None))
    axes[2].legend(loc="lower right", fontsize=8, frameon=False)
    for suffix in (".svg", ".png"):
        figure.savefig(pathlib.Path(target).with_suffix(suffix), dpi=110, metadata={"Date": None} if suffix == ".svg" else None)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "training")
