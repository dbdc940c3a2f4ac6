"""The lesson "Precision": what a norm loses in narrow formats, and why.

state, actions  what the address says, what a person does     rows     a row of a given mean and spread
reading         the row under every policy                    curves   the variance several ways
table, panels, plot, rungs, tensor  parts of the page         faults   rows that broke real code
"""
