"""Figures of runs and studies, each as a Matplotlib figure that `style.write_figure` writes."""
