"""SAMUEL (Grefenstette 1989 to 1997): evolves plans of rules that bid for actions.

Read in this order: `samuel_parameters`, `granularity` (intervals in steps), `plans`, `means`,
`samuel_operators` (new rules from what was played), `breeding` (selection, crossover, deletion), `listed` (a
plan as a decision list), `samuel`. Plans are played by `ifthen.simulate.bids`. What is published and what is
our choice: `docs/family.md`.
"""
