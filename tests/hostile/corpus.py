"""The hostile definitions of testdata/hostile, and how their short forms are written out.

A case is one file: what it attacks, how it ends, its input and its definition. Where the same thing would be
written many times, an object with a field that begins with `$` stands for it; README.md lists them.
"""

import dataclasses
import functools
import json
import pathlib

FOLDER = pathlib.Path(__file__).parents[2] / "testdata" / "hostile"
# How a case may end, besides a status with an error's name.
EITHER, NEVER, ITSELF = "either", "never", "itself"
SECONDS = 30


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    attacks: str
    ends: str
    seconds: int
    input: object
    definition: dict

    @functools.cached_property
    def definition_text(self):
        return compact(self.definition)

    @functools.cached_property
    def input_text(self):
        return compact(self.input)

    @property
    def is_jsonata(self):
        return self.definition.get("QueryLanguage") == "JSONata"

    @property
    def must_end(self):
        return self.ends not in {EITHER, NEVER}

    def as_children(self, count):
        """The definition as the children of a distributed Map, each with the case's input."""
        top = {name: self.definition[name] for name in ("StartAt", "States")}
        processor = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}} | top
        each = {"Type": "Map", "Label": "hostile", "ItemProcessor": processor, "End": True}
        if self.is_jsonata:
            each |= {"Items": f"{{% [1..{count}] %}}", "ItemSelector": "{% $states.input %}"}
            return compact({"QueryLanguage": "JSONata", "StartAt": "Children", "States": {"Children": each}})
        given = {"ItemsPath": "$.numbers", "ItemSelector": {"own.$": "$.own"}}
        # The processor's states see their input where they expect it.
        first = {"Type": "Pass", "InputPath": "$.own", "Next": top["StartAt"]}
        processor |= {"StartAt": "Unpack", "States": {"Unpack": first} | top["States"]}
        return compact({"StartAt": "Children", "States": {"Children": each | given}})

    def input_of_children(self, count):
        return self.input_text if self.is_jsonata else compact({"numbers": list(range(count)), "own": self.input})

    def states(self):
        """Each state by itself, as TestState takes it; equal ones once."""
        found = {}
        for state in states_below(self.definition):
            language = {"QueryLanguage": "JSONata"} if self.is_jsonata else {}
            found.setdefault(compact(language | state))
        return list(found)


def states_below(machine):
    for state in machine["States"].values():
        yield state
        for inner in state.get("Branches", []) + [state[name] for name in ("ItemProcessor", "Iterator") if name in state]:
            yield from states_below(inner)


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def read(path):
    case = json.loads(path.read_text())
    unknown = set(case) - {"attacks", "ends", "seconds", "input", "definition"}
    assert not unknown, f"{path.name}: {unknown}"
    return Case(
        path.stem,
        case["attacks"],
        case["ends"],
        case.get("seconds", SECONDS),
        expand(case["input"]),
        expand(case["definition"]),
    )


def cases():
    return [read(path) for path in sorted(FOLDER.glob("*.json"))]


def expand(value):
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    first = next(iter(value), "")
    if first in FORMS:
        return FORMS[first](**{name.removeprefix("$"): given for name, given in value.items()})
    return {name: expand(inner) for name, inner in value.items()}


def long_text(text, of="x", then="", last=""):
    return (of * (text // len(of) + 1))[:text] + expand(then) + last


def many_items(items, of):
    return [expand(of)] * items


def branches(branches, of):
    """Machines whose states differ by their names alone, which are unique in a definition."""
    return [renamed(expand(of), f" {number}") for number in range(1, branches + 1)]


def renamed(machine, suffix):
    states = {name + suffix: renamed_state(state, suffix) for name, state in machine["States"].items()}
    return machine | {"StartAt": machine["StartAt"] + suffix, "States": states}


def renamed_state(state, suffix):
    state = dict(state)
    if "Next" in state:
        state["Next"] += suffix
    if "ItemProcessor" in state:
        state["ItemProcessor"] = renamed(state["ItemProcessor"], suffix)
    return state


def many_fields(fields, of):
    return {f"field{number}": expand(of) for number in range(fields)}


def numbers(numbers):
    return list(range(numbers))


def nested(nested, around, **how):
    wrap = {"array": lambda inner: [inner], "object": lambda inner: {"in": inner}}[how["in"]]
    value = expand(around)
    for _ in range(nested):
        value = wrap(value)
    return value


def chain(chain, of):
    """States S1, S2, … in a row."""
    state = expand(of)
    following = [{"Next": f"S{number + 1}"} for number in range(1, chain)] + [{"End": True}]
    return {f"S{number}": state | next for number, next in enumerate(following, 1)}


def within(within, kind, around):
    """Parallel or Map states S1, S2, … inside one another."""
    states = expand(around)
    for number in range(within, 0, -1):
        inner = {"StartAt": next(iter(states)), "States": states}
        branches = {"Branches": [inner]}
        iterations = {"ItemsPath": "$.items", "ItemSelector": {"items.$": "$.items"}, "ItemProcessor": inner}
        state = {"Type": kind, "End": True} | (branches if kind == "Parallel" else iterations)
        states = {f"S{number}": state}
    return states


FORMS = {
    "$text": long_text,
    "$items": many_items,
    "$branches": branches,
    "$fields": many_fields,
    "$numbers": numbers,
    "$nested": nested,
    "$chain": chain,
    "$within": within,
}
