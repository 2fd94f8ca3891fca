"""Reading a policy: rules in words, maps and pages."""
