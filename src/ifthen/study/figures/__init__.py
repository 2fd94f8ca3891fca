"""Figures of runs and studies, each as a Matplotlib figure that `ifthen.figure_style.write_figure` writes."""
