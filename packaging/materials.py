#!/usr/bin/env python3
"""materials.py LICENCES SBOM: what the library and the program are made of, in a folder that has `vendor` with all crates. Writes their licences, and a
bill of materials as CycloneDX 1.5, without a time, so that the same crates give the same file."""

import json
import pathlib
import re
import subprocess
import sys

licences, sbom = map(pathlib.Path, sys.argv[1:])


def cargo(*arguments):
    return subprocess.run(["cargo", arguments[0], "--locked", "--offline", *arguments[1:]], stdout=subprocess.PIPE, check=True, text=True).stdout


metadata = json.loads(cargo("metadata", "--format-version", "1"))
# The metadata also has crates that no feature asks for.
tree = cargo("tree", "--edges", "normal,build", "--target", "all", "--prefix", "none", "--format", "{p}")
compiled = {tuple(line.split()[:2]) for line in tree.splitlines()}
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
top = metadata["resolve"]["root"]
checksums = {
    (name, version): checksum
    for name, version, checksum in re.findall(
        r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"', pathlib.Path("Cargo.lock").read_text(encoding="utf-8"))
}


def needed(id):
    """What a package is compiled from or with, not what its tests are."""
    kinds = lambda dep: [kind["kind"] for kind in dep["dep_kinds"]]
    deps = [dep["pkg"] for dep in nodes[id]["deps"] if any(kind != "dev" for kind in kinds(dep))]
    return sorted(dep for dep in deps if (packages[dep]["name"], "v" + packages[dep]["version"]) in compiled)


found, queue = set(), list(metadata["workspace_default_members"])
while queue:
    id = queue.pop()
    if id not in found:
        found.add(id)
        queue += needed(id)
used = sorted((packages[id] for id in found - {top}), key=lambda package: (package["name"], package["version"]))


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package):
    # Older crates write a slash for OR.
    licence = package["license"].replace(" / ", " OR ").replace("/", " OR ")
    made = {"type": "library", "bom-ref": purl(package), "name": package["name"], "version": package["version"],
            "licenses": [{"expression": licence}], "purl": purl(package)}
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return made


ids = sorted(found, key=lambda id: purl(packages[id]))
sbom.write_text(json.dumps({
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {"component": component(packages[top])},
    "components": [component(package) for package in used],
    "dependencies": [{"ref": purl(packages[id]), "dependsOn": sorted(purl(packages[dep]) for dep in needed(id))} for id in ids],
}, indent=2) + "\n", encoding="utf-8")

parts = [f"chatparse is under the licence {packages[top]['license']} (LICENSE). It is made of these crates, and of Rust's standard library "
         "(MIT OR Apache-2.0).\n"]
# Our own crates have the licence above.
for package in (package for package in used if package["source"]):
    folder = pathlib.Path("vendor") / f"{package['name']}-{package['version']}"
    texts = sorted(path for path in folder.iterdir() if re.match(r"(?i)(licen[cs]e|copying|copyright|notice|unlicense)", path.name))
    if not texts:
        sys.exit(f"{package['name']}: has no text of its licence, {package['license']}")
    parts.append("\n".join([f"{'=' * 100}\n{package['name']} {package['version']}: {package['license']}\n"] +
                           [path.read_text(encoding="utf-8") for path in texts if path.is_file()]))
licences.write_text("\n".join(parts), encoding="utf-8")
