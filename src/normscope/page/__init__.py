"""Drawing that knows no norms: parts, and how they are lowered to HTML, text and JSON."""
