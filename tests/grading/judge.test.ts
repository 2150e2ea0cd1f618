import assert from "node:assert/strict";
import { AnswerJudge, type JudgedAnswer } from "../../src/grading/answer_judge.ts";

const judgeAll = (judge: AnswerJudge, answers: readonly JudgedAnswer[]) =>
  Promise.all(answers.map((answer) => judge.isCorrect(answer)));

const ENDLESS = new URL("./endless_worker.ts", import.meta.url);
/** Longer than any honest pair takes on a busy machine, and far shorter than the hostile ones. */
const TIME_LIMIT = 1500;

const math = (answer: string | null, reference: string): JudgedAnswer => ({
  comparison: "math",
  answer,
  reference,
});

Deno.test("judge: verdicts of all comparisons, in order", async () => {
  using judge = new AnswerJudge();
  const verdicts = await judgeAll(judge, [
    math("\\sqrt{12}", "2\\sqrt3"),
    math("\\sqrt{13}", "2\\sqrt3"),
    math("0.5", "\\frac12"),
    math(null, "5"),
    { comparison: "text", answer: "Yes.", reference: "yes" },
    { comparison: "literal", answer: "[1, 2]", reference: "(1, 2)" },
    math("x^2+2x+1", "(x+1)^2"),
  ]);
  assert.deepEqual(verdicts, [true, false, true, false, true, false, true]);
  assert.equal(judge.timeouts, 0);
});

Deno.test("judge: hostile mathematics is wrong after the time limit; its neighbours are judged", async () => {
  using judge = new AnswerJudge({ timeLimit: TIME_LIMIT });
  // Alone, each of these keeps the engine busy for seconds to minutes.
  const hostile = ["9^{9^{9^{9}}}", "1000000!", "9^{9^{9}}+1"];
  const start = performance.now();
  const verdicts = await judgeAll(judge, [
    math("\\frac{x+x}{2}", "x"),
    ...hostile.map((answer) => math(answer, "x+1")),
    math("1+x", "x+1"),
    math("x-1", "x+1"),
  ]);
  assert.deepEqual(verdicts, [true, false, false, false, true, false]);
  assert.ok(judge.timeouts >= 1, "none of the hostile answers reached the limit");
  assert.ok(judge.timeouts <= hostile.length);
  assert.ok(performance.now() - start < 30_000);
});

Deno.test("judge: an answer that never ends counts once, is remembered, and the rest goes on", async () => {
  using judge = new AnswerJudge({ timeLimit: 300, workerModule: ENDLESS });
  const batch = [math("ab+c", "c+ab"), math("endless", "x"), math("ab", "abcd"), math("xy", "yx")];
  assert.deepEqual(await judgeAll(judge, batch), [true, false, false, true]);
  assert.equal(judge.timeouts, 1);
  assert.deepEqual(await judgeAll(judge, batch), [true, false, false, true]);
  assert.equal(judge.timeouts, 1);
});

Deno.test("judge: what is no longer remembered is judged again", async () => {
  using judge = new AnswerJudge({ timeLimit: 300, workerModule: ENDLESS, cacheSize: 1 });
  assert.equal(await judge.isCorrect(math("endless", "x")), false);
  assert.equal(await judge.isCorrect(math("ab", "cd")), true);
  assert.equal(await judge.isCorrect(math("endless", "x")), false);
  assert.equal(judge.timeouts, 2);
});

Deno.test("judge: a defect in the thread is an error, not a verdict; the next answer starts anew", async () => {
  using judge = new AnswerJudge({ workerModule: ENDLESS });
  const batch = [math("ab", "cd"), math("broken", "x"), math("uv", "wx")];
  const results = await Promise.allSettled(batch.map((answer) => judge.isCorrect(answer)));
  assert.deepEqual(results.map(({ status }) => status), ["fulfilled", "rejected", "rejected"]);
  assert.equal(await judge.isCorrect(math("uv", "wx")), true);
});

Deno.test("judge: a thread that never begins is an error, and so is one that cannot", async () => {
  const begins = (code: string) => new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  using stuck = new AnswerJudge({ startLimit: 300, workerModule: begins("for (;;);") });
  await assert.rejects(stuck.isCorrect(math("ab", "cd")), {
    name: "GradingFailure",
    message: /has not begun within 0\.3 s/,
  });
  using broken = new AnswerJudge({ workerModule: begins("throw new Error('no engine')") });
  await assert.rejects(broken.isCorrect(math("ab", "cd")), {
    name: "GradingFailure",
    message: /failed: .*no engine/,
  });
});

Deno.test("judge: closing rejects what is under way, and the judge can be used again", async () => {
  using judge = new AnswerJudge({ workerModule: ENDLESS });
  const pending = judge.isCorrect(math("endless", "x"));
  await judge.isCorrect(math("5", "5"));
  judge.close();
  await assert.rejects(pending, /closed before/);
  assert.equal(await judge.isCorrect(math("ab", "cd")), true);
});

Deno.test("judge: an idle thread lets the process end", async () => {
  const judgeModule = new URL("../../src/grading/answer_judge.ts", import.meta.url).href;
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      `const { AnswerJudge } = await import("${judgeModule}");
       const judge = new AnswerJudge();
       const question = { comparison: "math", answer: "x+1", reference: "1+x" };
       console.log(await judge.isCorrect(question));`,
    ],
    signal: AbortSignal.timeout(60_000),
  }).output();
  assert.equal(code, 0);
  assert.equal(new TextDecoder().decode(stdout).trim(), "true");
});
