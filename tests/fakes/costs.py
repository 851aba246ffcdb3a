"""The cost model of the fakes: cycles per pair in closed form, so that tests know every border."""


def costs(cas: int, fence: int) -> dict[str, int]:
    """Return what each lock pays: thin a CAS, tasuki a CAS and a fence, asym_tasuki two fences, and
    reservation half of what tasuki pays. Cancellations are not among it."""
    return {
        "nop": 5,
        "thin": 40 + cas,
        "tasuki": 40 + cas + fence,
        "asym_tasuki": 45 + 2 * fence,
        "reservation": 42 + (cas + fence) // 2,
    }
