"""How rules choose an action: one file per kind of ruleset."""
