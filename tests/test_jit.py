from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba.core import config

from ifthen import jit

ROOT = Path(__file__).parents[1]
FOLLOW = "tests/systems/xcsf/test_follow.py::test_the_compiled_xcsf_follows_the_plain_one"
# Every kernel is called by one of these, and none takes long without compilation.
QUICK = [
    "tests/test_randomness.py",
    "tests/rules/test_box.py",
    "tests/inference",
    "tests/tasks/test_solve.py::test_the_chain_is_worth_what_it_is_by_hand",
    "tests/tasks/test_solve.py::test_policy_values_solve_the_linear_system",
    "tests/tasks/test_solve.py::test_a_policy_that_can_meet_a_null_action_has_no_value_and_others_keep_theirs",
    "tests/rollout/test_play.py::test_dense_rewards_add_up_as_by_the_oracle_for_any_time_limit_and_block",
    "tests/rollout/test_play.py::test_a_memo_too_small_for_the_task_changes_nothing",
    "tests/rollout/test_play.py::test_a_block_table_tells_what_stepping_through_its_outcomes_does",
    "tests/rollout/test_play.py::test_outcomes_are_drawn_as_by_the_oracle",
    "tests/rollout/test_play.py::test_the_memo_holds_the_next_outcomes_as_digits",
    "tests/rollout/test_twin.py::test_blocks_choose_as_the_rulebook_does",
    "tests/rollout/test_twin.py::test_episodes_end_at_the_end_at_the_limit_and_where_no_rule_matches",
    "tests/rollout/test_twin.py::test_other_kernels_can_take_steps_in_a_lane_of_their_own",
    "tests/tasks/test_twins.py::test_replaying_actions_gives_what_the_environment_gave",
    "tests/evolve/test_selection.py::test_the_winner_is_the_oracles",
    "tests/evolve/test_crossover.py::test_alleles_are_swapped_as_by_the_oracle",
    "tests/evolve/test_crossover.py::test_rules_are_swapped_with_all_they_carry_as_by_the_oracle",
    "tests/evolve/test_mutation.py::test_alleles_mutate_as_by_the_oracle",
    "tests/evolve/test_mutation.py::test_geometric_variates_equal_their_oracle_up_to_the_cap",
    "tests/systems/test_pittsburgh.py::test_first_alleles_are_drawn_as_by_the_oracle",
    "tests/systems/test_pittsburgh.py::test_breeding_rounds_give_the_oracles_children",
    "tests/systems/test_ppl_st.py::test_an_update_by_hand",
    "tests/systems/test_ppl_st.py::test_individuals_learn_as_by_the_oracle_where_every_step_is_rewarded",
    "tests/systems/test_ppl_dl.py::test_three_epochs_are_the_oracles",
    "tests/systems/test_reinforce.py::test_reinforcement_is_that_of_the_oracle_in_the_real_environment",
    "tests/systems/test_reinforce.py::test_individuals_and_rollouts_begin_from_different_seeds_of_the_pool",
    f"{FOLLOW}_step_for_step[lake]",
    f"{FOLLOW}_step_for_step[NLMS]",
    f"{FOLLOW}_step_for_step[roulette]",
    f"{FOLLOW}_step_for_step[set subsumption]",
    "tests/systems/xcsf/test_update.py::test_any_set_is_updated_as_by_the_oracle",
    "tests/explain/test_prune.py::test_greedy_drops_what_the_oracle_drops",
    "tests/explain/test_boxes.py::test_coverage_is_what_every_cell_says",
    "tests/explain/test_boxes.py::test_holes_are_free_of_rules_and_cannot_be_made_longer",
    "tests/explain/test_box_lists.py::test_rules_decide_where_every_cell_says",
    "tests/explain/test_box_lists.py::test_lists_are_equal_where_every_cell_says_so",
    "tests/explain/test_shortest.py::test_masks_hold_the_states_inside_a_box",
    "tests/explain/test_shortest.py::test_the_cost_of_a_list_is_kept_through_every_move",
    "tests/explain/test_shortest.py::test_a_box_grows_as_far_as_its_action_is_allowed",
    "tests/explain/test_shortest.py::test_what_is_held_impossible_is_impossible_and_what_is_found_can_be_done",
    "tests/study/test_bootstrap.py::test_resampled_means_are_the_oracles",
]


def test_kernels_are_right_without_compilation_too() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "IFTHEN_TEST_PROFILE": "few"}
    # Whole numbers wrap around silently in compiled code; NumPy warns when they do.
    command = [sys.executable, "-m", "pytest", "-W", "ignore", "-p", "no:cacheprovider", *QUICK]
    done = subprocess.run(
        command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed.group(1)) > len(QUICK)


def test_the_hash_of_all_sources_changes_with_any_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hash_of: Any = jit.sources_hash.__wrapped__
    monkeypatch.setattr(jit, "ROOT", tmp_path)
    hashes = []
    for path, text in (("a.py", "1"), ("a.py", "2"), ("deep/b.py", "2"), ("deep/c.py", "2"), ("d.txt", "x")):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
        hashes.append(hash_of())
    assert len(set(hashes[:4])) == 4
    assert hashes[4] == hashes[3]


@pytest.mark.parametrize(
    ("changed", "moves"),
    [
        ("top.py", True),
        ("one.py", True),  # imported by name
        ("deep/two.py", True),  # imported by one.py
        ("deep/other/three.py", True),  # in a folder that one.py imports from
        ("later.py", False),  # imported inside a function only: no kernel can call it
        ("apart.py", False),
    ],
)
def test_kernels_are_compiled_anew_when_and_only_when_a_file_changes_that_they_can_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, moves: bool
) -> None:
    monkeypatch.setattr(jit, "ROOT", tmp_path)
    texts = {
        "top.py": "from ifthen.one import f\n\ndef g():\n    from ifthen.later import h\n",
        "one.py": "import ifthen.deep.two\nfrom ifthen.deep.other import (\n    three,\n)\n",
        **dict.fromkeys(("deep/two.py", "deep/other/three.py", "later.py", "apart.py"), "value = 1\n"),
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_text(text)
    hashes = []
    for text in (texts[changed], texts[changed] + "more = 2\n"):
        (tmp_path / changed).write_text(text)
        jit.imports_of.cache_clear()
        jit.kernels_hash.cache_clear()
        hashes.append(jit.kernels_hash(tmp_path / "top.py"))
    assert (hashes[0] != hashes[1]) == moves


def test_the_cache_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IFTHEN_CACHE_DIR", str(tmp_path / "own"))
    file = Path(jit.__file__).with_name("randomness.py")
    assert jit.cache_folder(file) == tmp_path / "own" / jit.kernels_hash(file)
    monkeypatch.delenv("IFTHEN_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert jit.cache_root() == tmp_path / "xdg" / "ifthen"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert jit.cache_root() == Path.home() / ".cache" / "ifthen"


def test_kernels_leave_numbas_own_cache_setting_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Any = config
    monkeypatch.setattr(settings, "CACHE_DIR", "theirs")

    @jit.kernel
    @functools.wraps(test_the_cache_folder_can_be_chosen)
    def nothing() -> None:
        """Do nothing."""

    assert settings.CACHE_DIR == "theirs"
    assert callable(nothing)


def test_kernels_work_where_no_cache_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    script = "import numpy as np\nfrom ifthen.randomness import draw\nprint(draw(np.uint64(0), 0))\n"
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        env={**os.environ, "IFTHEN_CACHE_DIR": str(tmp_path / "file" / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert int(done.stdout) == 0xE220A8397B1DCDAF
