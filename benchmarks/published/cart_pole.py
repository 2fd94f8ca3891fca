"""Published policies for CartPole. The rules and numbers are those of the sources that each one names."""

from typing import Any


def angle(obs: Any) -> int:
    """A. Géron, Hands-On Machine Learning with Scikit-Learn and TensorFlow, 2017."""
    return 0 if obs[2] < 0 else 1


def angular_velocity(obs: Any) -> int:
    """J. Xu, How to Beat the CartPole Game in 5 Lines, Towards Data Science."""
    return 0 if obs[3] < 0 else 1


def angle_then_velocity(obs: Any) -> int:
    """J. Xu, How to Beat the CartPole Game in 5 Lines, Towards Data Science."""
    theta, omega = obs[2:4]
    if abs(theta) < 0.03:
        return 0 if omega < 0 else 1
    return 0 if theta < 0 else 1


def closed_form(obs: Any) -> int:
    """Z. Xiao, OpenAIGymSolution 1.0.0 (2021), CartPole-v0."""
    return 1 if 3.0 * obs[2] + obs[3] > 0 else 0


def two_thresholds(obs: Any) -> int:
    """A. Nichol, CartPole Decision Tree, gist.github.com/unixpickle/fc9229b28d79cd1a8e64ad29c98cd50f."""
    if obs[2] < -0.012419 or obs[3] < -0.091290:
        return 0
    return 1
