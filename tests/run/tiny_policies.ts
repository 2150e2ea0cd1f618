import { fileURLToPath } from "node:url";

/** Problems so easy that the tiny policies solve and judge some of them. */
export const tinyTask = {
  name: "last-letter",
  minimum_steps: 1,
  maximum_steps: 1,
  minimum_letters: 2,
  maximum_letters: 2,
};

const folderOf = (policy: string) =>
  fileURLToPath(new URL(`../fixtures/tiny/${policy}`, import.meta.url));

/** The folders of two policies that solve and judge a part of `tinyTask`; `train_tiny_policies.ts` made them. */
export const tinyPolicies = { generator: folderOf("generator"), verifier: folderOf("verifier") };
