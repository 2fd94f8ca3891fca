"""Pictures of what a policy does, each as a Matplotlib figure; `write.write_pictures` writes them all."""
