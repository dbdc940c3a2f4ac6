"""What the axes lab says: what it shows, and where its numbers stop meaning anything."""

LEAD = (
    "LayerNorm takes one row at a time: change one feature and every output of its row moves. The lesson’s numbers are "
    "illustrative signals, not embeddings; the words only label the rows."
)
NOTES = (
    "z has the sign of x − mean: a feature above its row’s mean comes out positive.",
    "eps is positive and protects the denominator: a constant row is divided by √eps, not by zero; z is 0 and y is β. "
    "The field takes eps = 0 as well: then z of a constant row is 0/0, which is no number (NaN).",
    "γ and β are one number a feature, so the outputs of a row need not keep mean 0 or unit spread.",
    "The variance is that of the population: the sum of squares is divided by the count of features, not by one less.",
    "LayerNorm normalizes over the trailing dimensions that it is declared with: here the features of one token. "
    "γ and β have that shape, and the leading dimensions, the tokens, share them.",
    "LayerNorm’s statistics are those of the current input, in training and in evaluation alike. BatchNorm in "
    "evaluation may use running statistics that it saved in training; the axes panel shows what this table would leave "
    "in them.",
    "Features have no linguistic meaning here. No parameter is trained: no optimizer changes γ or β, and no training "
    "runs are compared.",
)
