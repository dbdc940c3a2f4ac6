"""Settings that every test runs under."""

from hypothesis import settings

# The same examples in every run, so that `make test` fails for a change and not by chance.
settings.register_profile("normscope", deadline=None, derandomize=True, max_examples=80)
settings.load_profile("normscope")
