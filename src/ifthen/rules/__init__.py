"""What a rule is: features, boxes over them, and rulesets."""
