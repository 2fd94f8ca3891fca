"""Stable-Baselines3's PPO or DQN on CartPole-v1: run by ../peers.py with its own Python.

Budget and parameters are those that the RL Zoo publishes for CartPole-v1.
"""

from __future__ import annotations

import time

BEGAN = time.perf_counter()

from importlib import import_module, metadata  # noqa: E402 - the clock runs while things are imported
from typing import Any  # noqa: E402

from cartpole_trial import ENVIRONMENT, Trial, arguments  # noqa: E402

BUDGET = {"PPO": 100_000, "DQN": 50_000}
ENVS = {"PPO": 8, "DQN": 1}
PARAMETERS: dict[str, dict[str, Any]] = {
    "PPO": {
        "n_steps": 32,
        "batch_size": 256,
        "gae_lambda": 0.8,
        "gamma": 0.98,
        "n_epochs": 20,
        "ent_coef": 0.0,
        "learning_rate": lambda remaining: 0.001 * remaining,
        "clip_range": lambda remaining: 0.2 * remaining,
    },
    "DQN": {
        "learning_rate": 2.3e-3,
        "batch_size": 64,
        "buffer_size": 100_000,
        "learning_starts": 1000,
        "gamma": 0.99,
        "target_update_interval": 10,
        "train_freq": 256,
        "gradient_steps": 128,
        "exploration_fraction": 0.16,
        "exploration_final_eps": 0.04,
        "policy_kwargs": {"net_arch": [256, 256]},
    },
}


def make_callback(trial: Trial, stop: bool) -> Any:
    """Return what checks the model between two steps."""
    base = import_module("stable_baselines3.common.callbacks").BaseCallback

    class Check(base):  # type: ignore[misc, valid-type]  # the class is known only at run time
        def _on_step(self) -> bool:
            model = self.model
            reached = trial.after(self.num_timesteps, lambda rows: model.predict(rows, deterministic=True)[0])
            return not (reached and stop)

    return Check()


def acting_weights(model: Any, algorithm: str) -> int:
    """Return how many weights are needed to act: those of the policy's or of the Q-network."""
    policy = model.policy
    networks = [policy.mlp_extractor.policy_net, policy.action_net] if algorithm == "PPO" else [policy.q_net]
    return sum(weights.numel() for network in networks for weights in network.parameters())


def main() -> None:
    """Train and report."""
    parser = arguments(steps=0, every=2000)
    parser.add_argument("algorithm", choices=sorted(BUDGET))
    options = parser.parse_args()
    import_module("torch").set_num_threads(options.threads)
    library = import_module("stable_baselines3")
    make_vec_env = import_module("stable_baselines3.common.env_util").make_vec_env
    envs = make_vec_env(ENVIRONMENT, n_envs=ENVS[options.algorithm], seed=options.seed)
    parameters = PARAMETERS[options.algorithm]
    model = getattr(library, options.algorithm)(
        "MlpPolicy", envs, seed=options.seed, device="cpu", verbose=0, **parameters
    )
    trial = Trial(options.every, BEGAN)
    trial.start()
    model.learn(options.steps or BUDGET[options.algorithm], callback=make_callback(trial, options.stop))
    trial.report(
        model.num_timesteps,
        lambda rows: model.predict(rows, deterministic=True)[0],
        size=f"{acting_weights(model, options.algorithm):,} weights",
        version=metadata.version("stable_baselines3"),
    )


if __name__ == "__main__":
    main()
