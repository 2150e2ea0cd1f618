import type { CritiqueSample, Sample } from "../run/store/samples_log.ts";

/** Colours a piece of text for the terminal, or leaves it as it is. */
export type Paint = (colour: "green" | "red" | "yellow" | "dim" | "bold", text: string) => string;

const number = (value: number) => (value >= 0 ? "+" : "") + value.toFixed(2);
const judged = (value: boolean | null) =>
  value === null ? "no verdict" : value ? "CORRECT" : "INCORRECT";

/**
 * A sample as lines: the problem, each step coloured by the verifier's judgment with its reward and
 * advantage, the answer, and what each critique came to.
 *
 * @param whole also the texts as they were written
 */
export function sampleText(sample: Sample, paint: Paint, whole: boolean): string {
  const { step, phase, problem, referenceAnswer, solution, steps, answer, correct } = sample;
  const [first] = sample.critiques;
  const fits = first !== undefined && first.stepJudgments.length === steps.length;
  const lines = [
    paint("bold", `step ${step}, ${phase}`),
    `problem    ${problem}`,
    ...steps.map((text, k) => {
      const judgment = fits ? first.stepJudgments[k] : null;
      const mark = judgment === null ? "?" : judgment ? "✓" : "✗";
      const colour = judgment === null ? "yellow" : judgment ? "green" : "red";
      const reward = sample.stepRewards?.[k];
      const advantage = sample.stepAdvantages?.[k];
      const numbers = [
        ...(reward === undefined ? [] : [`reward ${number(reward)}`]),
        ...(advantage === undefined ? [] : [`advantage ${number(advantage)}`]),
      ].join(", ");
      return `  ${paint(colour, `${mark} ${text}`)}${numbers && paint("dim", `   ${numbers}`)}`;
    }),
    `answer     ${answer ?? "none"}, ${
      correct ? paint("green", "right") : paint("red", `wrong: it is ${referenceAnswer}`)
    }`,
    ...sample.critiques.map((critique) => critiqueLine(critique, steps.length, correct, paint)),
    ...rewardLines(sample),
  ];
  if (whole) {
    lines.push(paint("dim", solution), ...sample.critiques.map(({ text }) => paint("dim", text)));
  }
  return lines.join("\n");
}

function critiqueLine(
  { verdict, stepJudgments, reward, advantage }: CritiqueSample,
  steps: number,
  correct: boolean,
  paint: Paint,
): string {
  const parts = [
    paint(verdict === null ? "yellow" : verdict === correct ? "green" : "red", judged(verdict)),
    ...(stepJudgments.length === steps ? [] : [`judged ${stepJudgments.length} of ${steps} steps`]),
    ...(reward === undefined ? [] : [`reward ${number(reward)}`]),
    ...(advantage === undefined ? [] : [`advantage ${number(advantage)}`]),
  ];
  return `verifier   ${parts.join(", ")}`;
}

function rewardLines({ rewards, outcomeAdvantage }: Sample): string[] {
  if (rewards === undefined) return [];
  const parts = Object.entries(rewards).map(([name, value]) => `${name} ${number(value)}`);
  if (outcomeAdvantage !== undefined) parts.push(`advantage ${number(outcomeAdvantage)}`);
  return [`rewards    ${parts.join(", ")}`];
}
