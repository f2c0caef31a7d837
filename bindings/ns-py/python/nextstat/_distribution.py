"""Refuses to start beside another distribution that installs a package of the same name."""

import pathlib

#: The name on the package index. `pyproject.toml` declares it.
DISTRIBUTION = "nextstat-hep"
#: Another program on the package index. Its import name is `nextstat` too, so both write into one folder.
OTHER = "nextstat"

FOLDER = pathlib.Path(__file__).parents[1]


def refuse_two(folder: pathlib.Path = FOLDER) -> None:
    """Raises `ImportError` if both distributions are installed in a folder, because their files are then mixed."""
    if not any(folder.glob(f"{OTHER}-*.dist-info")):
        return
    # Imported here, because it takes a quarter of the time in which this package is imported.
    from importlib import metadata

    versions = {found.metadata["Name"]: found.version for found in metadata.distributions(path=[str(folder)])}
    if DISTRIBUTION not in versions or OTHER not in versions:
        return
    raise ImportError(
        f"the distributions '{DISTRIBUTION}' {versions[DISTRIBUTION]} and '{OTHER}' {versions[OTHER]} are both installed in "
        f"{folder}, and both write into its folder 'nextstat'. Keep one of them: pip uninstall --yes {OTHER} {DISTRIBUTION}, "
        f"then pip install {DISTRIBUTION}. To use both, make a virtual environment for each",
        name="nextstat",
    )
