/** Worker thread that compares mathematical answers; `AnswerJudge` starts it and ends it when it hangs. */

import { parentPort } from "node:worker_threads";
import { equalMathematics } from "./equal_mathematics.ts";

/** A pair to compare. Pairs are sent in batches; each is answered by one message. */
export interface AnswerPair {
  readonly answer: string;
  readonly reference: string;
}

/** "ready" once, when the engine is loaded; then a verdict for each pair, in order. */
export type WorkerMessage = "ready" | boolean;

const port = parentPort;
if (port === null) throw new Error("answer_worker.ts must run as a worker thread");
const send = (message: WorkerMessage) => port.postMessage(message);

port.on("message", (pairs: readonly AnswerPair[]) => {
  for (const { answer, reference } of pairs) send(equalMathematics(answer, reference));
});
// The engine builds much of itself on first use, which must not count as the first pair's time.
equalMathematics("\\sin^2 x + \\cos^2 x + \\frac{1}{2}", "\\sqrt{\\frac{9}{4}}");
send("ready");
