"""Which mistake an implementation of a norm makes: it is asked, measured, and compared with wrong definitions."""
