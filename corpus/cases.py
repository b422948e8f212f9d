#!/usr/bin/env python3
"""cases.py N: each N-th of our recorded cases, as `chatparse replay` reads them, each with its template inside. Where the reference data
lies beside the clone, also some of its cases."""

import gzip
import json
import os
import sys

every = int(sys.argv[1])
sys.stdout.reconfigure(encoding="utf-8", newline="\n")
packs = [("corpus/parity.jsonl", open, "templates/", every)]
packs.append(("../shared/parity/scenarios.jsonl.gz", gzip.open, "../shared/templates/", 20 * every))
for path, opened, folder, step in packs:
    if not os.path.exists(path):
        continue
    with opened(path, "rt", encoding="utf-8") as pack:
        for line in list(pack)[::step]:
            case = json.loads(line)["in"]
            if "template" in case:
                with open(folder + case.pop("template"), encoding="utf-8", newline="") as template:
                    case["template_source"] = template.read()
            print(json.dumps(case, ensure_ascii=False, separators=(",", ":")))
