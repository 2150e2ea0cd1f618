import assert from "node:assert/strict";
import fc from "fast-check";
import { pairedSolutions } from "../../src/rl/paired_solutions.ts";

/** R for a right solution, W for a wrong one, numbered by problem. */
const groupsOf = (...outcomes: string[]) =>
  outcomes.map((group, problem) =>
    [...group].map((letter, i) => ({ name: `${letter}${problem}.${i}`, correct: letter === "R" }))
  );
const names = (groups: ReturnType<typeof groupsOf>) =>
  pairedSolutions(groups).map(({ name }) => name);

Deno.test("paired solutions: a right and a wrong one of the same problem, then one of others", () => {
  assert.deepEqual(names(groupsOf("WRW", "WWW", "RRW", "RRR")), ["R0.1", "W0.0", "R2.0", "W2.2"]);
  assert.deepEqual(names(groupsOf("WW", "RW", "RR")), ["R1.0", "W1.1", "W0.0"]);
  assert.deepEqual(names(groupsOf("WW", "RR")), ["W0.0", "R1.0"]);
  assert.deepEqual(
    names(groupsOf("RW", "RW", "WR")),
    ["R0.0", "W0.1", "W2.0"].toSpliced(2, 1, "R1.0"),
  );
  assert.deepEqual(names(groupsOf("RW")), ["R0.0"]);
});

Deno.test("paired solutions: as many as problems, none twice, as many pairs as there is room for", () => {
  const group = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 });
  fc.assert(fc.property(fc.array(group, { minLength: 1, maxLength: 12 }), (outcomes) => {
    const groups = outcomes.map((own, problem) => own.map((correct) => ({ problem, correct })));
    const chosen = pairedSolutions(groups);
    assert.equal(chosen.length, groups.length);
    assert.equal(new Set(chosen).size, chosen.length);
    const mixed = outcomes.filter((own) => own.includes(true) && own.includes(false)).length;
    const pairs = Math.min(mixed, Math.floor(groups.length / 2));
    const paired = [...Map.groupBy(chosen, ({ problem }) => problem).values()]
      .filter((own) => own.length === 2);
    assert.equal(paired.length, pairs);
    assert.ok(paired.every(([one, other]) => one.correct !== other.correct));
  }));
});
