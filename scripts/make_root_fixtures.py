#!/usr/bin/env python3
"""Writes the small ROOT files of tests/fixtures/root with ROOT itself (`pip install root`).

Every file has the same histograms, compressed in another way, in directories, with two cycles of a name, labels and
edges that are not even. `buffered.root` has a histogram whose entries are in no bin yet.
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
