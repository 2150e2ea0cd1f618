import assert from "node:assert/strict";
import {
  describeLearnability,
  learnability,
  learnabilityProblems,
  nothingToLearn,
} from "../../../src/rl/measures/learnability.ts";

/** Samples of problems of which so many out of 8 are right. */
function samples(...right: number[]) {
  const each = right.flatMap((count) => Array.from({ length: 8 }, (_, i) => i < count));
  return learnability(each, each.map((_, i) => Math.floor(i / 8)));
}

Deno.test("learnability: pass@1, pass@8 and mixed groups by hand", () => {
  // 2/8, none, all and 6/8: pass@1 (0.25 + 0 + 1 + 0.75) / 4, three have a right one, two are mixed.
  const found = samples(2, 0, 8, 6);
  assert.deepEqual(found, { problems: 4, passAt1: 0.5, passAt8: 0.75, mixedShare: 0.5 });
  assert.equal(nothingToLearn(found), null);
  assert.equal(
    describeLearnability(found),
    "4 problems × 8 samples: pass@1 50.0 %, pass@8 75.0 %, mixed groups (neither all right nor all wrong) 50.0 %",
  );
});

Deno.test("learnability: what teaches nothing is said, with what to do", () => {
  assert.match(nothingToLearn(samples(0, 0, 0)) ?? "", /5 points.* and .*10 %.*easier problems/);
  assert.match(nothingToLearn(samples(8, 8, 8)) ?? "", /harder problems/);
  // Mixed everywhere, and yet one right sample less than a twentieth makes no difference to pass@8.
  const narrow = { problems: 4, passAt1: 0.96, passAt8: 1, mixedShare: 0.3 };
  assert.match(nothingToLearn(narrow) ?? "", /^[^%]*5 points[^%]*harder/);
  // One in eleven: (7/8) / 11 is 8 points, and 9 % are mixed.
  const flat = nothingToLearn(samples(1, ...new Array<number>(10).fill(0)));
  assert.match(flat ?? "", /less than 10 % of the problems/);
  assert.doesNotMatch(flat ?? "", /5 points/);
  assert.equal(
    nothingToLearn({ problems: 9, passAt1: 0.5, passAt8: 0.5501, mixedShare: 0.1 }),
    null,
  );
});

Deno.test("learnability: problems of several sources are taken of each, those of one in their order", () => {
  const held = ["n0", "n1", "n2", "n3", "w0", "w1", "w2", "w3"];
  assert.deepEqual(learnabilityProblems(held, 4, (name) => name[0]), ["n0", "n2", "w0", "w2"]);
  assert.deepEqual(learnabilityProblems(held, 3, () => "one"), ["n0", "n1", "n2"]);
});
