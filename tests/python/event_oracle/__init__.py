"""An independent likelihood of HS3 models of events, written from the documentation alone, without code of NextStat.

`shapes` has the formulae, `panels` the quadrature, `densities` the normalised densities, `likelihood` reads a file, `minimum`
minimises, `asimov` finds CLs, `exact` computes with 50 digits, `draw` draws random models, `checks` compares them with
NextStat.
"""
