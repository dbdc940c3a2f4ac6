"""The lesson "Mistakes": a museum of wrong norms, each run beside the right one.

side, slips      a program with its inputs, and how a wrong one is written
statistics, divisors, parameters, blocks (kernels), rounding, gradients     the exhibits; catalogue lists them
outcome          both outputs of an input, compared      fingerprint, usual     what tells a mistake, what misses it
state, quiz, panels, formulas, page                      the page
"""
