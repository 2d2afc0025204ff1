"""Tasks of SkyPilot for the VMs of a plan."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ..core.errors import SpotbagError
from ..instances.entries import RESERVED
from .orders import VmOrder


def task_yaml(order: VmOrder, name: str, folder: Path, infra: str | None = None) -> str:
    """Return the file by which SkyPilot rents a VM of a plan and runs its tasks there.

    Parameters
    ----------
    order : VmOrder
        What the VM runs.
    name : str
        Name of its folder.
    folder : Path
        The folder, as seen from where ``sky`` is called.
    infra : str, optional
        Where SkyPilot looks for VMs; of a pool, ``type@zone``, it looks in its zone, unless that is
        ``reserved``.

    Raises
    ------
    SpotbagError
        If that is a zone, and the VM is of a pool, which has its own.
    """
    type_name = order.type if order.zone is None else order.type.removesuffix(f"@{order.zone}")
    if order.zone not in (None, RESERVED):
        place = (infra or "*").split("/")
        if len(place) > 2:
            rule = f"names a zone, and {order.type} has its own: give the cloud and the region, {'/'.join(place[:2])}"
            raise SpotbagError(f"infra {infra!r}: {rule}")
        infra = "/".join([*place, *["*"] * (2 - len(place)), order.zone])
    remote = f"~/spotbag/{name}"
    where = "" if infra is None else f"  infra: {_scalar(infra)}\n"
    return (
        f"# Call it from the folder of your project:  sky launch --cluster {cluster_name(name)} {folder}.yaml\n"
        f"name: {_scalar(cluster_name(name))}\n"
        "workdir: .\n"
        "resources:\n"
        f"{where}"
        f"  instance_type: {_scalar(type_name)}\n"
        f"  use_spot: {'true' if order.market == 'spot' else 'false'}\n"
        "file_mounts:\n"
        f"  {_scalar(remote)}: {_scalar(str(folder))}\n"
        f"run: sh {remote}/run.sh\n"
    )


def cluster_name(name: str) -> str:
    """Return a name as clouds take it: letters, digits and dashes, a letter first."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return plain if plain[:1].isalpha() else f"vm-{plain}"


def _scalar(text: str) -> str:
    """Return a text as a scalar of YAML, in double quotes; what JSON escapes, YAML reads alike."""
    return json.dumps(text, ensure_ascii=False)
