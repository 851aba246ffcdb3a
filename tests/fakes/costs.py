"""The cost model of the fakes: cycles per pair in closed form, so that tests know every border."""


def costs(cas: int, fence: int) -> dict[str, int]:
    """Return the cost of each lock: thin a CAS, tasuki a CAS and a fence, asym_tasuki two fences,
    and reservation half of tasuki's. Revocations are not among it."""
    return {
        "nop": 5,
        "thin": 40 + cas,
        "tasuki": 40 + cas + fence,
        "asym_tasuki": 45 + 2 * fence,
        "reservation": 42 + (cas + fence) // 2,
    }
