"""Watch a run in TensorBoard, keep its best model, and stop when it is good enough.

It is run so:

pip install '.[track]' tensorboard
python examples/tensorboard.py
tensorboard --logdir curves
"""

from __future__ import annotations

import argparse

import gymnasium

import ifthen
from ifthen.systems.callbacks import Checkpoint, EvaluationCallback, StopAt, TensorBoard


def main() -> None:
    """Read the command line, train."""
    parser = argparse.ArgumentParser(description="Train with callbacks.")
    parser.add_argument("--env", default="CartPole-v1", help="the environment's name in Gymnasium")
    parser.add_argument("--epochs", type=int, default=50, help="epochs of training")
    parser.add_argument("--score", type=float, default=475, help="the score to stop at")
    options = parser.parse_args()

    checks = EvaluationCallback(episodes=100, every=2, best="best.zip")  # on seeds that training does not use
    curves = TensorBoard("curves/seed-0")
    system = ifthen.PPLDL(gymnasium.make(options.env), seed=0)
    system.learn(
        epochs=options.epochs,
        callback=[checks, StopAt(options.score, checks), Checkpoint("at-{epoch}.zip", every=25), curves],
        progress_bar=True,
    )
    curves.close()
    for row in checks.log:
        print(row)


if __name__ == "__main__":
    main()
