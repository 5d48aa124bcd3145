"""The first page lists every extra, with the licenses that dependencies declare."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {"required": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
FOR_WORK = {"peers", "docs", "stores", "test", "dev"}  # on advchunk
TESTED = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^(\S+)==(\S+)", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
}
INSTALL = (ROOT / "docs/index.md").read_text(encoding="utf-8").partition("## Install")[2].partition("\n## ")[0]
SECTION = (ROOT / "docs/licenses.md").read_text(encoding="utf-8")
SPDX = {  # of what packages write instead
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD License": "BSD",
    "BSD license (see license.txt for details), Copyright (c) 2000-2025, ReportLab Inc.": "BSD",
    "MIT License": "MIT",
    "MIT, BSD": "MIT AND BSD",
    "Python Software Foundation License": "PSF-2.0",
}


def packages(extra):
    """Return the packages that an extra names itself."""
    return {canonicalize_name(Requirement(line).name) for line in EXTRAS[extra]} - {"advchunk"}


def statements(package):
    """Return what an installed package says of its license, the most exact first, without whole texts."""
    about = metadata.metadata(package)
    title, _, rest = about.get("License", "").partition("\n")
    classifiers = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier", []) if "License ::" in line]
    texts = [about.get("License-Expression"), title if not rest or title in SPDX else "", *classifiers]
    return [SPDX.get(text, text) for text in texts if text]


def installed_by_users():
    """Return the packages that the extras for users install, with what these install in turn, as far as they are
    here."""
    visited, waiting = {}, [Requirement(line) for extra in EXTRAS.keys() - FOR_WORK for line in EXTRAS[extra]]
    while waiting:
        requirement = waiting.pop()
        package, extras = canonicalize_name(requirement.name), requirement.extras or {""}
        try:
            needed = [Requirement(line) for line in metadata.requires(package) or []]
        except metadata.PackageNotFoundError:
            continue
        if not extras <= visited.setdefault(package, set()):
            visited[package] |= extras
            waiting += [
                line for line in needed if not line.marker or any(line.marker.evaluate({"extra": e}) for e in extras)
            ]
    return set(visited)


@pytest.fixture
def table():
    """Return the licenses of the packages of each extra in the guide."""
    rows = re.findall(r"^\| `?(\w+)`? \| (.+: .+) \|$", SECTION, re.MULTILINE)
    return {
        extra: {
            package: license
            for group in cell.split("; ")
            for license, _, names in [group.partition(": ")]
            for package in names.split(", ")
        }
        for extra, cell in rows
    }


def test_table_has_every_dependency(table):
    assert {extra: set(rows) for extra, rows in table.items()} == {
        extra: packages(extra) for extra in EXTRAS if packages(extra)
    }


def test_licenses_are_those_that_packages_declare(table):
    wrong = {}
    for name, license in {row for rows in table.values() for row in rows.items()}:
        try:
            tested = metadata.version(name).partition("+")[0] == TESTED.get(name)
        except metadata.PackageNotFoundError:
            continue
        if tested and statements(name)[0] != license:
            wrong[name] = (license, statements(name)[0])
    assert not wrong


def test_copyleft_is_named_above_the_table(table):
    above, _, _ = SECTION.partition("| extra |")
    licenses = {name: [license] for rows in table.values() for name, license in rows.items()}
    licenses |= {name: statements(name) for name in installed_by_users()}
    copyleft = {name for name, texts in licenses.items() if re.search("[GM]PL", " ".join(texts))}
    assert {name for name in copyleft if f"`{name}`" not in above} == set()


def test_no_package_that_users_install_is_under_the_gpl():
    # Of licenses joined by OR, users choose one.
    licenses = {name: " ".join(statements(name)).split(" OR ") for name in installed_by_users()}
    gpl = re.compile("GPL|General Public")
    assert {name: texts for name, texts in licenses.items() if all(map(gpl.search, texts))} == {}


def test_every_extra_of_users_is_listed():
    cells = re.findall(r"^\| (.+?) \|", INSTALL, re.MULTILINE)
    assert EXTRAS.keys() - FOR_WORK - {"required"} <= set(re.findall(r"`(\w+)`", " ".join(cells)))


def test_extra_all_has_all_but_what_the_page_excepts():
    def reached(extra):
        asked = {name for line in EXTRAS[extra] if line.startswith("advchunk[") for name in Requirement(line).extras}
        return asked.union(*map(reached, asked))

    assert EXTRAS.keys() - FOR_WORK - {"required", "all"} - reached("all") == {"docling", "e5", "ray"}
