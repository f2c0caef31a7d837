#!/usr/bin/env python3
"""Writes the small ROOT files of tests/fixtures/root with ROOT itself (`pip install root`).

Every file has the same histograms, compressed in another way, in directories, with two cycles of a name, labels and
edges that are not even. `buffered.root` has a histogram whose entries are in no bin yet. The files whose names begin with
`tree` have trees of all basic types; `tree_events.root` has the events of an example.
"""

import array
import os
import pathlib
import sys

import ROOT

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "root"
COMPRESSIONS = {"none": 0, "zlib": 101, "lzma": 205, "old": 301, "lz4": 404, "zstd": 505}


def fill(directory):
    directory.cd()
    for letter in "CSIFD":
        one = getattr(ROOT, "TH1" + letter)("h" + letter, "entries in " + letter, 40, 0.0, 2.0)
        for i in range(42):
            one.SetBinContent(i, i * i % 50)
        one.Write()
        two = getattr(ROOT, "TH2" + letter)("hh" + letter, "", 3, 0.0, 3.0, 2, array.array("d", [0.0, 1.0, 5.0]))
        for x in range(5):
            for y in range(4):
                two.SetBinContent(x, y, 10 * x + y)
        two.Sumw2()
        two.SetBinError(1, 1, 0.5)
        two.Write()
    cycle = ROOT.TH1D("twice", "first", 2, 0.0, 1.0)
    cycle.Write()
    cycle.SetTitle("second")
    cycle.SetBinContent(1, 7.5)
    cycle.Write()
    labelled = ROOT.TH1F("labelled", "", 3, 0.0, 3.0)
    for i, label in ((1, "ee"), (3, "mumu")):
        labelled.GetXaxis().SetBinLabel(i, label)
    labelled.GetXaxis().SetTitle("channel")
    labelled.Write()


def tree(name, setting):
    """A tree with a branch of each basic type, two baskets, a branch of two leaves, and branches that are not flat."""
    file = ROOT.TFile(f"tree_{name}.root", "RECREATE")
    file.SetCompressionSettings(setting)
    file.mkdir("deep").cd()
    tree = ROOT.TTree("events", "basic types")
    letters = {"F": "f", "D": "d", "I": "i", "i": "I", "L": "q", "l": "Q", "S": "h", "s": "H", "B": "b", "b": "B", "O": "B"}
    numbers = {letter: array.array(code, [0]) for letter, code in letters.items()}
    for letter, number in numbers.items():
        tree.Branch(f"branch_{'u' if letter in 'ilsb' else ''}{letter.lower()}", number, f"x/{letter}")
    pair = array.array("d", [0.0, 0.0])
    tree.Branch("pair", pair, "first/D:second/D")
    tree.Branch("three", array.array("f", [1.0, 2.0, 3.0]), "three[3]/F")
    n = array.array("i", [0])
    tree.Branch("n", n, "n/I")
    tree.Branch("many", array.array("f", [4.0, 5.0, 6.0]), "many[n]/F")
    tree.SetBasketSize("*", 1000)
    for event in range(300):
        for letter, number in numbers.items():
            number[0] = event % 2 if letter == "O" else event % 100 - (50 if letter in "FDILSB" else 0)
        pair[0], pair[1] = 0.5 * event, -event
        n[0] = event % 3
        tree.Fill()
    tree.Write()
    file.Close()


def events():
    """The events of tests/fixtures/build as trees, with the names of the columns that they have there."""
    import pyarrow.parquet

    folder = FOLDER.parent / "build"
    file = ROOT.TFile("tree_events.root", "RECREATE")
    for name in ("data", "signal", "background", "background_varied"):
        table = pyarrow.parquet.read_table(folder / f"{name}.parquet")
        tree = ROOT.TTree(name, "")
        numbers = {column: array.array("d", [0.0]) for column in table.column_names}
        for column, number in numbers.items():
            tree.Branch(column, number, f"{column}/D")
        for row in table.to_pylist():
            for column, number in numbers.items():
                number[0] = row[column]
            tree.Fill()
        tree.Write()
    file.Close()


def main():
    ROOT.gErrorIgnoreLevel = ROOT.kError
    FOLDER.mkdir(exist_ok=True)
    # A file says the path that it was opened with.
    os.chdir(FOLDER)
    for name, setting in COMPRESSIONS.items():
        file = ROOT.TFile(f"{name}.root", "RECREATE")
        file.SetCompressionSettings(setting)
        fill(file.mkdir("outer").mkdir("inner"))
        file.Close()
        if setting:
            tree(name, setting)
    events()
    file = ROOT.TFile("buffered.root", "RECREATE")
    waiting = ROOT.TH1D("waiting", "", 10, 0.0, -1.0)
    waiting.SetBuffer(100)
    waiting.Fill(3.0)
    waiting.Write()
    ROOT.TNamed("text", "no histogram").Write()
    file.Close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
