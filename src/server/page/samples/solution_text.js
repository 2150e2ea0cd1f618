import { h } from "../vendor.js";
import { formatNumber } from "../format.js";
import { stepJudgments, stepParts } from "./step_parts.js";

/**
 * @import { CritiqueSample, Sample } from "../contract.ts"
 */

/**
 * A solution as it was written, each step a button in the colour of what was said of it.
 *
 * @param {object} props
 * @param {Pick<Sample, "solution" | "steps" | "stepAdvantages">} props.solution
 * @param {CritiqueSample | undefined} props.critique
 * @param {string} props.colour
 * @param {number | null} props.opened
 * @param {(step: number) => void} props.open
 */
export function SolutionText({ solution, critique, colour, opened, open }) {
  const judgments = stepJudgments(solution.steps.length, critique);
  return h(
    "div",
    { class: "solution text" },
    stepParts(solution.solution, solution.steps).map(({ text, step }, place) => {
      if (step === null) return h("span", { key: place, class: "between" }, text);
      const { tone, mark, words } = colour === "advantage"
        ? describeAdvantage(solution.stepAdvantages?.[step])
        : describeJudgment(judgments[step]);
      return h(
        "button",
        {
          key: place,
          type: "button",
          class: `solution-step ${tone}`,
          "aria-expanded": critique === undefined ? undefined : opened === step ? "true" : "false",
          "aria-label": `Step ${step + 1}, ${words}: ${text}`,
          title: `Step ${step + 1}: ${words}`,
          disabled: critique === undefined,
          onClick: () => open(step),
        },
        h("span", { class: "mark", "aria-hidden": "true" }, mark),
        text,
      );
    }),
  );
}

/** @param {boolean | null} judgment */
function describeJudgment(judgment) {
  if (judgment === null) return { tone: "none", mark: "?", words: "not judged" };
  return judgment
    ? { tone: "right", mark: "✓", words: "judged correct" }
    : { tone: "wrong", mark: "✗", words: "judged incorrect" };
}

/** @param {number | undefined} advantage */
function describeAdvantage(advantage) {
  if (advantage === undefined) return { tone: "none", mark: "–", words: "no advantage" };
  const tone = advantage > 0 ? "raised" : advantage < 0 ? "lowered" : "none";
  const strength = Math.abs(advantage) > 1 ? " strong" : "";
  return {
    tone: tone + strength,
    mark: `${advantage > 0 ? "+" : ""}${formatNumber(advantage)}`,
    words: `advantage ${formatNumber(advantage)}`,
  };
}
