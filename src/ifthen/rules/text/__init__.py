"""Rules as text: reading and writing them."""
