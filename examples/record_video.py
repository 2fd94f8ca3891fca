"""Record a policy at play as mp4 files, with Gymnasium's RecordVideo.

    pip install '.[video]'               # in a clone: pygame draws, moviepy writes the film
    python examples/record_video.py                               # trains PPL-DL on CartPole-v1 first
    python examples/record_video.py --model runs/mine/model.zip   # a model of CartPole-v1 that you have
    python examples/record_video.py --env ifthen/FrozenLake-v0 --episodes 5

The films are in the folder videos.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import gymnasium

import ifthen


def main() -> None:
    """Read the command line, train or load, play and record."""
    parser = argparse.ArgumentParser(description="Record a policy at play.")
    parser.add_argument("--env", default="CartPole-v1", help="the environment's name in Gymnasium")
    parser.add_argument("--model", type=Path, help="a saved model; trained anew where none is given")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of training")
    parser.add_argument("--episodes", type=int, default=3, help="how many to record")
    parser.add_argument("--out", type=Path, default=Path("videos"))
    options = parser.parse_args()

    if options.model is None:
        system: ifthen.System = ifthen.PPLDL(gymnasium.make(options.env), seed=0).learn(epochs=options.epochs)
    else:
        system = ifthen.load(options.model)
    print(system.ruleset)

    env = gymnasium.wrappers.RecordVideo(
        gymnasium.make(options.env, render_mode="rgb_array"),
        video_folder=str(options.out),
        name_prefix=system.name,
        episode_trigger=lambda number: True,
    )
    for episode in range(options.episodes):
        observation, _ = env.reset(seed=2_000_000 + episode)  # seeds that training does not use
        score, over = 0.0, False
        while not over:
            action, _ = system.predict(observation)
            if action == ifthen.NULL_ACTION:
                print("no rule matches here, so the episode ends")
                break
            observation, reward, terminated, truncated, _ = env.step(action)
            score, over = score + float(reward), terminated or truncated
        print(f"episode {episode}: {score:g}")
    env.close()  # type: ignore[no-untyped-call]  # Gymnasium's
    print(f"written to {options.out}")


if __name__ == "__main__":
    main()
