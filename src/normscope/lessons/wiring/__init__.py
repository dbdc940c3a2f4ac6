"""The lesson "A named step": a block's exact arithmetic, up to the square root and beyond it.

state   what the address says          fold    the program's steps folded into boxes
panels  one panel a box, and a closing one          page    puts them together
"""
