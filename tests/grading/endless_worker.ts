/** Worker for the judge's tests: never finishes the answer "endless", ends at "broken", else compares texts. */

import process from "node:process";
import { parentPort } from "node:worker_threads";
import type { AnswerPair } from "../../src/grading/answer_worker.ts";

parentPort?.on("message", (pairs: readonly AnswerPair[]) => {
  for (const { answer, reference } of pairs) {
    while (answer === "endless");
    if (answer === "broken") process.exit(1);
    parentPort?.postMessage(answer.length === reference.length);
  }
});
parentPort?.postMessage("ready");
