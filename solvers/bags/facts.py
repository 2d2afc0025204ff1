"""Facts of a bag that steps of the route decide by."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from ...core.limits import checkpoint, seconds_left
from ...heuristics.bags.search import begins_with_a_plan, bursting_pays
from ...instances.instance import Instance
from ...models.bags.task_classes import (
    MOST_CLASSES,
    MOST_CLASSES_OF_COLUMNS,
    has_more_classes,
    memory_is_free,
    offers_of_vms,
    task_classes,
)
from ...schedules.evaluation import objective_weights
from ...schedules.method import Outcome, Run
from .budget import BUDGET

if TYPE_CHECKING:
    from ...models.bags.configurations import ConfigurationBound

_FEW_CLASSES = 12
SMALL_TASKS = 20
_TINY, _MIDDLING, _QUICK = 12, 60, 3_000


class Facts:
    """Facts of a bag and of a run, each worked out when it is first asked for.

    Attributes
    ----------
    instance : Instance
        With D_spot set.
    run : Run
        Seed, threads and what is asked; its incumbent is the best plan and bound so far.
    limited : bool
        Whether there is a time limit.
    first : Outcome or None
        What `first_plan` came to, once it was asked.
    configurations : ConfigurationBound or None
        The bound of configurations, once it is known.
    """

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance, self.run = instance, run
        self.limited = seconds_left() is not None
        self.first: Outcome | None = None
        self.configurations: ConfigurationBound | None = None

    @cached_property
    def side_by_side(self) -> bool:
        """True if a search goes on while others prove: there is more than one thread."""
        return self.run.threads > 1

    @cached_property
    def from_state(self) -> bool:
        """True if VMs exist already."""
        return bool(self.instance.machines)

    @cached_property
    def n_tasks(self) -> int:
        """Tasks that are to be planned."""
        return len(self.instance.open_tasks)

    @cached_property
    def n_classes(self) -> float:
        """Classes of identical tasks; infinite if there are more than any step takes."""
        if has_more_classes(self.instance, MOST_CLASSES_OF_COLUMNS):
            return math.inf
        classes = task_classes(self.instance, from_state=True)
        checkpoint()
        return len(classes)

    @cached_property
    def memory_free(self) -> bool:
        """True if memory can bind nowhere."""
        return memory_is_free(self.instance)

    @cached_property
    def burstable(self) -> bool:
        """True if there are burstable VMs."""
        return any(offer.burstable for offer in offers_of_vms(self.instance))

    @cached_property
    def cores_alone(self) -> bool:
        """True if a VM is nothing but the loads of its cores: neither memory nor credits count."""
        return self.memory_free and not (self.burstable and bursting_pays(self.instance))

    @cached_property
    def few_classes(self) -> bool:
        """True if there are so few classes that exact models prove the bag as a rule."""
        return self.memory_free and self.n_classes <= _FEW_CLASSES

    @cached_property
    def _new_and_apart(self) -> bool:
        """True if there are new VMs only, and nothing is asked of what several of them lose at once."""
        return not self.from_state and self.instance.rescue_time is None

    @cached_property
    def classed(self) -> bool:
        """True if models of classes take the bag, which know VMs that are new, each by itself."""
        return self._new_and_apart and self.memory_free and self.n_classes <= MOST_CLASSES

    @cached_property
    def few_for_columns(self) -> bool:
        """True if columns take the bag: new VMs, each by itself, and so many classes."""
        return self._new_and_apart and self.n_classes <= MOST_CLASSES_OF_COLUMNS

    @cached_property
    def tiny(self) -> bool:
        """True if a tenth of a second of search is enough."""
        return self.n_tasks <= _TINY

    @cached_property
    def small(self) -> bool:
        """True if exact models prove the bag as a rule."""
        return self.n_tasks <= SMALL_TASKS

    @cached_property
    def middling(self) -> bool:
        """True if exact models may prove the bag, or find a better plan."""
        return self.n_tasks <= _MIDDLING

    @cached_property
    def plan_first(self) -> bool:
        """True if simple heuristics make the first plan: the search does not begin with one, or they take no time."""
        return not self.from_state and (self.n_tasks <= _QUICK or not begins_with_a_plan(self.instance))

    @cached_property
    def class_programme(self) -> bool:
        """True if the class programme is done in a tenth of a second."""
        if not self.classed:
            return False
        from .class_programme_method import has_small_class_programme  # here, as below, since few bags have few classes

        return has_small_class_programme(self.instance)

    @cached_property
    def by_slack(self) -> bool:
        """True if the programme over the slack of VMs proves the bag in less time than a search takes, as a rule."""
        return self.classed and objective_weights(self.instance)[1] == 0 and not self.class_programme

    @cached_property
    def binds(self) -> bool:
        """True if the bound of configurations is worth its time: memory binds, or credits in a middling bag."""
        if self.from_state or self.cores_alone or self.few_classes:
            return False
        return self.middling or not self.memory_free

    @cached_property
    def exact(self) -> bool:
        """True if models of places and moments are worth a try at the end."""
        return (self.middling if self.from_state else self.small) or not self.memory_free

    @cached_property
    def hurried(self) -> bool:
        """True if the first search leaves time for proofs."""
        if not self.limited or self.is_proved_soon:
            return False
        if self.from_state:
            return self.exact
        return not (self.cores_alone or self.few_classes) and (self.middling or self.few_for_columns)

    @cached_property
    def first_search_s(self) -> float:
        """Most seconds of the first search where it is hurried."""
        return BUDGET.short_search_s if self.small or self.side_by_side else BUDGET.first_search_s

    @cached_property
    def is_proved_soon(self) -> bool:
        """True if a short search is enough, since proofs are quick."""
        if self.from_state:
            return self.tiny
        return self.class_programme or (not self.limited and self.tiny)

    @cached_property
    def searches_again(self) -> bool:
        """True if there is a search at the end: after a short one, and where there may be time for it."""
        if self.side_by_side:
            return self.limited or self.is_proved_soon
        return self.is_proved_soon or (self.hurried if self.from_state else self.limited)
