# SPDX-License-Identifier: MIT
"""schema_suite.py PROGRAM FILE...: what tests/tools/schema.c says of the cases
in files of the public JSON-Schema-Test-Suite.  Every valid instance, however
json.dumps writes it, must be taken and no other, unless the schema is refused
by name.  Ends with counts; exit status 1 where anything is wrong."""
import collections
import json
import subprocess
import sys

SPELLINGS = [dict(ensure_ascii=a, separators=s)
             for a in (True, False) for s in (None, (",", ":"))]


def spell(value):
    return sorted({json.dumps(value, **how) for how in SPELLINGS})


def main():
    verbose = "-v" in sys.argv
    program, *files = [a for a in sys.argv[1:] if a != "-v"]
    run = subprocess.Popen([program], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
    count = collections.Counter()
    refused = collections.Counter()
    for name in files:
        with open(name, encoding="utf-8") as f:
            groups = json.load(f)
        for group in groups:
            tests = [(t, s) for t in group["tests"] for s in spell(t["data"])]
            ask = {"schema": json.dumps(group["schema"]),
                   "try": [s for _, s in tests]}
            run.stdin.write(json.dumps(ask) + "\n")
            run.stdin.flush()
            answer = json.loads(run.stdout.readline())
            where = f"{name.rsplit('/', 1)[-1]}: {group['description']}"
            if answer.get("code") == "unsupported":
                count["refused"] += 1
                refused[answer["error"].rsplit("/", 1)[-1]] += 1
                if verbose:
                    print(f"# {where}: {answer['error']}")
                continue
            nothing = "no value satisfies" in answer.get("error", "")
            if "error" in answer and not nothing:
                count["wrong"] += 1
                print(f"{where}: {answer['error']}")
                continue
            count["accepted"] += 1
            took = [False] * len(tests) if nothing else answer["try"]
            for (test, text), is_in in zip(tests, took):
                count["instances"] += 1
                if is_in is not test["valid"]:
                    count["wrong"] += 1
                    print(f"{where}: {test['description']}: {text[:200]}: "
                          f"{is_in}, not {test['valid']}")
    run.stdin.close()
    if verbose:
        for what, n in refused.most_common():
            print(f"# {n} {what}")
    print(f"{count['accepted']} schemas, {count['instances']} instances, "
          f"{count['refused']} refused by name, {count['wrong']} wrong")
    return run.wait() or count["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
