import assert from "node:assert/strict";
import fc from "fast-check";
import { equalLiterals } from "../../../src/grading/python/compare_literal.ts";
import { anyText } from "../any_text.ts";

const PAIRS: readonly (readonly [reference: string, answer: string, isEqual: boolean])[] = [
  ["1", "1", true],
  ["1", "1.0", true],
  ["1", "True", true],
  ["0", "False", true],
  ["1", "2", false],
  ["None", "None", true],
  ["None", "False", false],
  ["-5", "- 5", true],
  ["1_000", "1000", true],
  ["0x10", "16", true],
  ["1e3", "1000", true],
  ["0.1", "0.10", true],
  ["0.1", "0.2", false],
  ["123456789012345678901", "123456789012345678902", false],
  ["'abc'", '"abc"', true],
  ["'abc'", "abc", false],
  ["'abc'", "'ABC'", false],
  ["'a b'", "'ab'", false],
  ["'it\\'s'", '"it\'s"', true],
  ["'a\\nb'", "'a\\x0ab'", true],
  ["'\\u00e9'", "'é'", true],
  ["'a\\\\b'", "r'a\\b'", true],
  ["'ab'", "'a' 'b'", true],
  ["b'ab'", "'ab'", false],
  ["b'ab'", 'b"ab"', true],
  ["''", '""', true],
  ["[1, 2]", "[1,2]", true],
  ["[1, 2]", "[1, 2,]", true],
  ["[1, 2]", "[2, 1]", false],
  ["[1, 2]", "(1, 2)", false],
  ["(1, 2)", "1, 2", true],
  ["(1,)", "(1)", false],
  ["1", "(1)", true],
  ["()", "()", true],
  ["[]", "[ ]", true],
  ["[]", "{}", false],
  ["{}", "set()", false],
  ["set()", "set( )", true],
  ["{1, 2}", "{2, 1, 1}", true],
  ["{1, 2}", "[1, 2]", false],
  ["{1: 2}", "{1: 2}", true],
  ["{'a': 1, 'b': 2}", '{"b": 2, "a": 1}', true],
  ["{'a': 1, 'b': 2}", "{'a': 1}", false],
  ["{'a': 1}", "{'a': 2}", false],
  ["{'a': 2}", "{'a': 1, 'a': 2}", true],
  ["{'a': [1, (2, 3)]}", "{'a':[1,(2,3)]}", true],
  ["{'a': [1, (2, 3)]}", "{'a':[1,[2,3]]}", false],
  ["[1, 2]", "[1 2]", false],
  ["2", "[1 2", false],
  ["[1, 2]", "[1, 2", false],
  ["[1, 2]", "[1, 2]]", false],
  ["{1, 2}", "{1: 2, 3}", false],
  ["2", "1+1", false],
  ["1", "", false],
  ["", "", false],
  ["float('inf')", "float('inf')", true],
];

Deno.test("literal answers: the table of pairs, both ways", () => {
  const isWrong = ([reference, answer, isEqual]: (typeof PAIRS)[number]) =>
    equalLiterals(answer, reference) !== isEqual ||
    equalLiterals(reference, answer) !== isEqual;
  assert.deepEqual(PAIRS.filter(isWrong), []);
});

Deno.test("literal answers: JSON without null and booleans is Python, whatever its spacing", () => {
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string(),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie("value"), { maxKeys: 4 }),
    ),
  })).value;
  fc.assert(fc.property(value, (json) => {
    assert.ok(equalLiterals(JSON.stringify(json), JSON.stringify(json, null, 1)));
  }));
});

Deno.test("literal answers: never throws, also on deep nesting and bracket soups", () => {
  const piece = fc.constantFrom("[", "]", "(", ")", "{", "}", ",", ":", "'", '"', "\\", "1", " ");
  const soup = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(soup, anyText, (a, b) => {
      equalLiterals(a, "[1]");
      equalLiterals(b, a);
    }),
    { numRuns: 500 },
  );
  assert.equal(equalLiterals("[".repeat(15_000), "[]"), false);
  assert.equal(equalLiterals(`${"[".repeat(9000)}${"]".repeat(9000)}`, "[]"), false);
});
