"""Published policies for Acrobot. The rules and numbers are those of the source that each one names."""

from typing import Any


def closed_form(obs: Any) -> int:
    """Z. Xiao, OpenAIGymSolution 1.0.0 (2021), Acrobot-v1."""
    cos_1, sin_1, cos_2, sin_2, _, speed_2 = obs
    if speed_2 < -0.3:
        return 0
    if speed_2 > 0.3:
        return 2
    return 0 if sin_2 + cos_1 * sin_2 + cos_2 * sin_1 > 0 else 2
