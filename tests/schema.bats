#!/usr/bin/env bats
# JSON Schemas as grammars: the public suite, and random ones against another
# validator.  tests/unit/schema.c has cases one by one.
bats_require_minimum_version 1.5.0

setup() {
    [[ ${B:=build} == /* ]] || B=$PWD/$B
}

@test "the public suite of JSON Schema" {
    run -0 python3 tests/tools/schema_suite.py "$B/tools/schema" tests/data/schema/suite.json
    echo "$output"
    [[ ${lines[-1]} == '368 schemas, '*' 0 refused by name, 0 wrong' ]]
}

# SCHEMA_COUNT=1000 SCHEMA_WALKS=10 is 10,000 texts.
@test "random schemas, another validator" {
    python3 -c 'import jsonschema' 2>/dev/null || skip "no python3-jsonschema"
    run -0 python3 tests/tools/schema_random.py "$B/tools/schema" \
        "${SCHEMA_SEED:-1}" "${SCHEMA_COUNT:-60}" "${SCHEMA_WALKS:-5}"
    echo "$output"
    [[ ${lines[-1]} == *', 0 wrong' ]]
}

# What a schema needs is bounded, whatever it says.
@test "schemas that would need too much" {
    [ -z "$(nm "$B/tools/schema" | grep -m 1 -e __asan -e __msan)" ] ||
        skip "sanitizers need more"
    python3 - >"$BATS_TEST_TMPDIR/in" <<'END'
import json

def one(schema):
    print(json.dumps({"schema": schema if isinstance(schema, str) else json.dumps(schema)}))

one({"enum": ["a word, number %d" % i for i in range(150000)]})
one({"enum": ["x" * 5000000]})
one('{"enum":[' + "1," * 2500000 + "1]}")
one({"properties": {"p%d" % i: {"minimum": i} for i in range(40000)}})
one({"oneOf": [{"properties": {"k": {"const": i}, "v": {"minimum": i}},
                "required": ["k"]} for i in range(400)]})
one({"allOf": [{"anyOf": [{"properties": {"a%d" % i: {"const": j}}} for j in range(9)]}
               for i in range(30)]})
one({"$defs": {"d%d" % i: {"properties": {k: {"$ref": "#/$defs/d%d" % (i + 1)} for k in "ab"}}
               for i in range(3000)} | {"d3000": {}}, "$ref": "#/$defs/d0"})
one({"pattern": "(a|b)*a(a|b){25}"})
one('{"items":' * 1000000)
END
    # An emulator takes more of both.
    ([[ -n ${EMULATOR:-} ]] || ulimit -v 260000; timeout 300 "$B/tools/schema" <"$BATS_TEST_TMPDIR/in") >"$BATS_TEST_TMPDIR/out"
    cat "$BATS_TEST_TMPDIR/out"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -eq 9 ]
    run ! grep -e '"memory"' "$BATS_TEST_TMPDIR/out"
}
