"""Let Stable-Baselines3 measure a system as if it were one of its own models.

It is run so:

pip install stable-baselines3
python examples/sb3_evaluate.py
python examples/sb3_evaluate.py --env ifthen/FrozenLake-v0 --system XCSF --epochs 50
"""

from __future__ import annotations

import argparse
from importlib import import_module

import gymnasium

from ifthen.systems.registry import system_by_name


def main() -> None:
    """Read the command line, train, measure."""
    parser = argparse.ArgumentParser(description="Measure a system with Stable-Baselines3.")
    parser.add_argument("--env", default="CartPole-v1", help="the environment's name in Gymnasium")
    parser.add_argument("--system", default="PPL-DL", help="see `ifthen systems`")
    parser.add_argument("--epochs", type=int, default=20, help="epochs of training")
    options = parser.parse_args()

    common = "stable_baselines3.common"
    evaluate_policy = import_module(f"{common}.evaluation").evaluate_policy
    make_vec_env = import_module(f"{common}.env_util").make_vec_env

    system = system_by_name(options.system)(gymnasium.make(options.env), seed=0).learn(epochs=options.epochs)
    print(system.ruleset)
    envs = make_vec_env(options.env, n_envs=4, seed=2_000_000)
    mean, deviation = evaluate_policy(system, envs, n_eval_episodes=100)
    print(f"mean reward {mean:.1f} ± {deviation:.1f} over 100 episodes")


if __name__ == "__main__":
    main()
