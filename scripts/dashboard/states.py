"""The states of a partition and of a process, as numbers with a text and a colour."""

from layout import BLUE, GREEN, RED, YELLOW
from queries import state

# States in the order of how much they ask for attention; the number stands for the state in panels.
STATES = [
    ("running", GREEN),
    ("beginning", BLUE),
    ("verifying", BLUE),
    ("restoring", YELLOW),
    ("refused", RED),
]
STATE_NUMBERS = " or ".join(f"{state(name)} * {number}" for number, (name, _) in enumerate(STATES, 1))
STATE_NUMBER = f"max by (route, partition) ({STATE_NUMBERS})"

STATE_MAPPING = [
    {
        "type": "value",
        "options": {
            str(number): {"text": name, "color": colour, "index": number - 1}
            for number, (name, colour) in enumerate(STATES, 1)
        },
    }
]

READY_MAPPING = [
    {
        "type": "value",
        "options": {
            "0": {"text": "not ready", "color": RED, "index": 0},
            "1": {"text": "ready", "color": GREEN, "index": 1},
        },
    }
]
