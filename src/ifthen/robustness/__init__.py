"""How a policy fares when something is not as in training: disturbances, longer episodes, bad starts."""
