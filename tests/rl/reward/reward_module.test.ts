import assert from "node:assert/strict";
import { join } from "node:path";
import {
  callReward,
  loadRewardModule,
  type RewardedResponse,
  type RewardFunction,
} from "../../../src/rl/reward/reward_module.ts";
import { UserError } from "../../../src/base/user_error.ts";

const RESPONSE: RewardedResponse = {
  question: "What is 2 + 3?",
  referenceAnswer: "5",
  source: "arithmetic",
  response: "<think><step>2 + 3 = 5</step></think><answer>\\boxed{5}</answer>",
  answer: "5",
  steps: ["2 + 3 = 5"],
  finished: true,
  correct: true,
};

async function withModule(source: string, test: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const path = join(folder, "reward.ts");
    await Deno.writeTextFile(path, source);
    await test(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const refuses = (promise: Promise<unknown>, message: RegExp) =>
  assert.rejects(promise, (error) => error instanceof UserError && message.test(error.message));

Deno.test("reward module: a TypeScript file's default export is called with the response", async () => {
  const source = `export default async (
    { correct, steps, answer }: { correct: boolean; steps: string[]; answer: string | null },
  ) => ({ reward: (correct ? 1 : 0) - 0.25 * steps.length, metrics: { digits: answer?.length ?? 0 } });`;
  await withModule(source, async (path) => {
    const reward = await loadRewardModule(path);
    assert.deepEqual(await callReward(reward, RESPONSE, path), {
      reward: 0.75,
      metrics: { digits: 1 },
    });
  });
});

Deno.test("reward module: what is wrong with it is said, with its path", async () => {
  await refuses(loadRewardModule("no/such.ts"), /^no\/such\.ts: there is no such reward module/);
  const cases: readonly (readonly [string, RegExp])[] = [
    ["export const reward = 1;", /reward\.ts: the reward module has no default export/],
    ["export default 5;", /default export is 5, not a function/],
    ["export default (", /reward\.ts: the reward module cannot be imported: /],
    ['throw new Error("no luck");', /cannot be imported: no luck/],
  ];
  for (const [source, message] of cases) {
    await withModule(source, (path) => refuses(loadRewardModule(path), message));
  }
});

Deno.test("reward module: only finite numbers are rewards and metrics", async () => {
  const call = (result: unknown) =>
    callReward((() => result) as RewardFunction, RESPONSE, "my/reward.ts");
  assert.deepEqual(await call(0.5), { reward: 0.5, metrics: {} });
  assert.deepEqual(await call({ reward: -1 }), { reward: -1, metrics: {} });
  await refuses(
    call(NaN),
    /^my\/reward\.ts: for the question "What is 2 \+ 3\?" the reward function returned NaN/,
  );
  await refuses(call("1"), /returned "1"\. It must return a finite number/);
  await refuses(call(undefined), /returned undefined/);
  await refuses(call({ reward: Infinity }), /finite reward/);
  await refuses(
    call({ reward: 1, metrics: { length: "long" } }),
    /returned "long" as metric "length"/,
  );
  await refuses(call({ reward: 1, metrics: [1] }), /returned metrics that are \[1\]/);
  const failing: RewardFunction = () => {
    throw new TypeError("no such field");
  };
  await refuses(callReward(failing, RESPONSE, "r.ts"), /reward function failed: no such field/);
});
