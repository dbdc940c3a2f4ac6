"""The lesson "Inside LayerNorm": follow a tensor through the layer, step by step, cell by cell.

state   what the address says            view    the numbers of that state
stage   the step in the middle           panels  formula, controls, ledger, all steps
page    puts them together
"""
