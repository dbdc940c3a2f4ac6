"""The lesson "Axes lab": change a feature, follow its row, keep the axes straight.

state   what the address says          actions   what a person does          reading   a person's own table
rounding  what floats leave of 0
table   the numbers and their controls          lanes   x, z and y on one axis          cards   formulas and figures
scope   which cells share a statistic           tasks   predictions                     page    puts them together
"""
