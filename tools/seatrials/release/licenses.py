"""Licenses as the Hub names them."""

import re
from typing import Final

HUB_LICENSES: Final = frozenset(
    """
    afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear bsl-1.0 c-uda cc
    cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0
    cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0
    cc0-1.0 cdla-permissive-1.0 cdla-permissive-2.0 cdla-sharing-1.0 ecl-2.0 epl-1.0 epl-2.0 etalab-2.0
    eupl-1.1 gfdl gpl gpl-2.0 gpl-3.0 isc lgpl lgpl-2.1 lgpl-3.0 lgpl-lr lppl-1.3c mit mpl-2.0 ms-pl ncsa
    odbl odc-by ofl-1.1 openrail osl-3.0 other pddl postgresql unknown unlicense wtfpl zlib
    """.split()  # noqa: SIM905 - sixty words read better so
)
"""Those of huggingface.co/docs/hub/repositories-licenses that a task could have; the Hub refuses a card
with another one, unless that is the `license_name` of `other`."""

_FAMILIES: Final = {"gfdl-1.2": "gfdl", "gfdl-1.3": "gfdl", "odbl-1.0": "odbl", "odc-by-1.0": "odc-by",
                    "pddl-1.0": "pddl"}  # fmt: skip


def header_of(spdx: str) -> dict[str, str]:
    """Return the keys of a card's header for an SPDX expression."""
    plain = spdx.strip().lower()
    name = re.sub(r"(?:-only|-or-later|\+)$", "", plain)
    name = _FAMILIES.get(name, name)
    if name in HUB_LICENSES:
        return {"license": name}
    single = re.fullmatch(r"[A-Za-z0-9.+-]+", spdx.strip())
    link = {"license_link": f"https://spdx.org/licenses/{spdx.strip()}.html"} if single else {}
    return {"license": "other", "license_name": re.sub(r"[^a-z0-9.+-]+", "-", plain).strip("-"), **link}
