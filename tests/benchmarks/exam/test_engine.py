"""The discrete simulation: who gets how much of what is shared, and who waits for whom."""

from __future__ import annotations

import pytest

from benchmarks.exam.engine import Gate, Process, Shared, Use, World


def run_uses(shared_of, *uses: tuple[float, float, float]) -> list[float]:
    """Let processes begin at times, do amounts with threads; return when each is done."""
    world = World()
    shared = shared_of(world)
    ends_s = [0.0] * len(uses)

    def process(number: int, begin_s: float, amount: float, threads: float) -> Process:
        yield begin_s
        yield Use(shared, amount, number, threads)
        ends_s[number] = world.now_s

    for number, use in enumerate(uses):
        world.start(process(number, *use))
    world.run()
    return ends_s


def two_cores(world: World) -> Shared:
    return Shared(world, 2.0, most_each=1.0)


def test_three_processes_share_two_cores_until_one_is_done() -> None:
    assert run_uses(two_cores, (0, 2, 1), (0, 2, 1), (0, 4, 1)) == pytest.approx([3.0, 3.0, 5.0])


def test_what_is_shared_may_change_its_capacity_and_loses_time_when_crowded() -> None:
    def slower(world: World) -> Shared:
        shared = Shared(world, 10.0, most_each=10.0)
        world.at(1.0, lambda: shared.set_capacity(5.0))
        return shared

    assert run_uses(slower, (0, 20, 1)) == pytest.approx([3.0])
    crowded = run_uses(
        lambda world: Shared(world, 1.0, most_each=1.0, crowding=0.5), *[(0, 1, 1)] * 2
    )
    assert crowded == pytest.approx([3.0, 3.0])


def test_a_gate_lets_all_pass_that_wait_and_closes_again() -> None:
    world, gate, passed = World(), Gate(), []

    def waiting(begin_s: float) -> Process:
        yield begin_s
        yield gate
        passed.append((begin_s, world.now_s))

    for begin_s in (0.0, 1.0, 3.0):
        world.start(waiting(begin_s))
    for at_s in (2.0, 5.0):
        world.at(at_s, lambda: world.open(gate))
    world.run()
    assert passed == [(0.0, 2.0), (1.0, 2.0), (3.0, 5.0)]
