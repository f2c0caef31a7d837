"""Train a network for the expected significance with PyTorch Lightning.

    pip install torch pytorch-lightning
    python docs/examples/lightning_training.py

Every step fills histograms of signal and background with the network's output, and maximises the expected significance of a
model in which the background has an uncertainty.
"""

import pytorch_lightning as lightning
import torch

import nextstat
import nextstat.torch

EDGES = torch.linspace(0.0, 1.0, 6, dtype=torch.float64)
EDGES[0], EDGES[-1] = -torch.inf, torch.inf


def workspace():
    """A signal, and a background known to 10 %, in five bins."""
    bins = [1.0] * 5
    samples = [
        {"name": "signal", "data": bins, "modifiers": [{"name": "mu", "type": "normfactor", "data": None}]},
        {
            "name": "background",
            "data": bins,
            "modifiers": [{"name": "norm", "type": "normsys", "data": {"hi": 1.1, "lo": 0.9}}],
        },
    ]
    return {
        "channels": [{"name": "SR", "samples": samples}],
        "observations": [{"name": "SR", "data": [2.0] * 5}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    }


def events(seed, count=1000):
    """Signal and background in two features."""
    random = torch.Generator().manual_seed(seed)
    shifts = torch.tensor([[1.0, 0.7], [-0.5, -0.3]], dtype=torch.float64)
    return torch.randn(count, 2, 2, dtype=torch.float64, generator=random) + shifts


class Classifier(lightning.LightningModule):
    """A network with one output, trained for the expected significance."""

    def __init__(self):
        super().__init__()
        self.network = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).double()
        model = nextstat.load_workspace(workspace())
        self.session = nextstat.ProfiledDifferentiableSession(model, ["signal", "background"], asimov=1.0, threads=1)
        self.losses = []

    def histogram(self, sample, expected):
        score = torch.sigmoid(self.network(sample)).squeeze(-1)
        return expected / len(sample) * nextstat.torch.soft_histogram(score, EDGES, 0.05)

    def training_step(self, batch, _):
        yields = [self.histogram(batch[:, 0], 30.0), self.histogram(batch[:, 1], 600.0)]
        loss = -nextstat.torch.significance(self.session, yields)[1]
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.02)


def train(epochs):
    """Return the losses of all steps. A batch has all events, because the significance is one number of all of them."""
    lightning.seed_everything(1, verbose=False)
    classifier = Classifier()
    loader = torch.utils.data.DataLoader(events(1), batch_size=1000)
    trainer = lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
    )
    trainer.fit(classifier, loader)
    return classifier.losses


if __name__ == "__main__":
    found = train(60)
    print(f"expected significance: {-found[0]:.2f} before, {-found[-1]:.2f} after {len(found)} steps")
