"""Trees and programs from elsewhere as rulesets: what they compare becomes conditions, their order a list.

Nothing that is read is executed or imported.
"""
