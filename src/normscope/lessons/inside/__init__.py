"""The lesson "Inside LayerNorm": follow a tensor through the layer and back, step by step, cell by cell.

state     what the address says           layer    the tensor, norm, program and window that it names
rounding  how values are rounded          actions  what a person does to it
numbers   what goes in, traced            view     the numbers of that state       names   what they are called
stage     the step in the middle          grids    its tensors                     panels  all round it
formula   the mathematics, with a slope   cell     what can be moved               ladder  one cell in every format
costs     the ledger of both ways         copies   what can be taken along         words   what to notice
page      puts them together
"""
