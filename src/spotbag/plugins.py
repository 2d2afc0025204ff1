"""Classes and functions from which methods and policies of one's own are made.

A method makes a plan of a bag: a `Method`, or a function of an instance and a `Run` that returns an `Outcome`. A policy
decides in replays: a `Policy` for bags, a `StreamPolicy` for streams, a `PlatformPolicy` for platforms. They are given
as they are to `spotbag.solve`, `spotbag.replay_days` and the like; as ``module:attribute`` on the command line; or, of
an installed distribution, by the names of its entry points in the groups ``spotbag.methods`` and ``spotbag.policies``.
"""

from __future__ import annotations

from .core.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
