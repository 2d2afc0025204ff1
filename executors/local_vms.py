"""Stand-ins for VMs, as processes of this machine: to try plans out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ..core.cluster import import_distributed
from ..core.errors import SpotbagError
from ..core.quantities import KB_PER_MB
from ..core.wording import counted
from ..instances.entries import Market, type_memory_kb
from ..schedules.schedule import Schedule

_LOOPBACK = "127.0.0.1"
"""Whoever reaches a port of a scheduler or worker can have it run anything: nobody does from another machine."""

_LEAST_MEMORY_MB = 512
"""Dask itself needs some memory; commands are processes of their own, and not counted."""


@dataclass(frozen=True, slots=True)
class Vm:
    """A VM of a plan.

    Attributes
    ----------
    id, type, market : str
        Its id, and what is rented.
    vcpus : int
        Cores.
    memory_mb : float
        Memory.
    price_usd_per_hour : float
        Price.
    """

    id: str
    type: str
    market: Market
    vcpus: int
    memory_mb: float
    price_usd_per_hour: float


def vms_of(plan: Schedule) -> list[Vm]:
    """Return the VMs of a plan, in its order."""
    offers = [plan.instance.offers[offer] for offer in plan.vm_offer.tolist()]
    return [
        Vm(
            name,
            one.vm_type.name,
            one.market,
            one.vm_type.vcpus,
            type_memory_kb(one.vm_type) / KB_PER_MB,
            one.price_usd_per_hour,
        )
        for name, one in zip(plan.vm_ids, offers, strict=True)
    ]


class LocalVms:
    """A Dask cluster on this machine whose workers are processes, one for each VM that is started.

    To be used in a ``with`` statement, which ends it. All of it listens on this machine only, at 127.0.0.1.

    Parameters
    ----------
    vms : iterable of Vm
        VMs that are there from the beginning, see `vms_of`.
    dashboard : bool
        Whether there is Dask's dashboard, at ``client.dashboard_link``.

    Attributes
    ----------
    client : distributed.Client
        Of the cluster.

    Raises
    ------
    SpotbagError
        If Dask is not installed.
    """

    def __init__(self, vms: Iterable[Vm] = (), *, dashboard: bool = False) -> None:
        self._distributed = import_distributed()
        self._first = tuple(vms)
        self._dashboard = dashboard
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="spotbag-")
        self._cluster = self._distributed.LocalCluster(
            n_workers=0,
            host=_LOOPBACK,
            # Without a dashboard, the scheduler still listens here, for what asks whether it is well.
            dashboard_address=f"{_LOOPBACK}:0",
            scheduler_kwargs={"dashboard": self._dashboard},
            silence_logs=50,
        )
        self.client = self._distributed.Client(self._cluster, set_as_default=False)
        for vm in self._first:
            self.start(vm)
        self._wait_for([vm.id for vm in self._first])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for name in list(self._processes):
            self.stop(name)
        self.client.close()
        self._cluster.close()
        self._folder.cleanup()

    def start(self, vm: Vm) -> None:
        """Start the worker of a VM, with as many threads as it has cores, if it has not been started."""
        if vm.id in self._processes:
            return
        memory_mb = max(vm.memory_mb, _LEAST_MEMORY_MB)
        words = [f"--host={_LOOPBACK}", f"--dashboard-address={_LOOPBACK}:0", "--no-nanny", "--no-dashboard"]
        words += [f"--nthreads={vm.vcpus}", f"--memory-limit={memory_mb:.0f}MB", f"--name={vm.id}"]
        words += [f"--local-directory={Path(self._folder.name)}", self._cluster.scheduler_address]
        self._processes[vm.id] = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # A group of its own, so that Ctrl-C leaves it to this process, and commands end with it.
            start_new_session=True,
        )

    def _wait_for(self, vms: Iterable[str], timeout_s: float = 120.0) -> None:
        """Wait until the workers of VMs are there."""
        wanted, until = set(vms), time.monotonic() + timeout_s
        while missing := wanted - {str(entry["name"]) for entry in self.client.scheduler_info()["workers"].values()}:
            if time.monotonic() > until:
                raise SpotbagError(f"{counted(len(missing), 'worker')} did not start within {timeout_s:g} s")
            time.sleep(0.05)

    def process(self, vm: str) -> int:
        """Return the number of the process of a VM."""
        return self._processes[vm].pid

    def stop(self, vm: str) -> None:
        """End the process of a VM at once, with all commands that it runs."""
        process = self._processes.pop(vm, None)
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
