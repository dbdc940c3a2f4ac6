"""Pages as pure functions of their address."""
