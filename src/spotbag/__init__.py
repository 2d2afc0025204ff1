"""Plan bags of independent tasks on spot, on-demand and burstable VMs.

>>> import spotbag
>>> result = spotbag.solve(spotbag.library_instance("burst-hads/J60"), time_limit_s=60)
>>> result.status
'optimal'
"""

from __future__ import annotations

from .core.lazy_names import lazy_names

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_names(__name__, __file__, public=True)
