import { h } from "../vendor.js";
import { critiqueSteps } from "./step_parts.js";

/**
 * @import { CritiqueSample } from "../contract.ts"
 */

/**
 * What the verifier wrote: of the step that is open, and all of it on request.
 *
 * @param {{ critique: CritiqueSample, stepCount: number, opened: number | null }} props
 */
export function Critique({ critique, stepCount, opened }) {
  const { text, stepJudgments } = critique;
  const isAligned = stepJudgments.length === stepCount;
  return h(
    "div",
    { class: "critique" },
    h("div", { "aria-live": "polite" }, opened === null ? null : ofStep(opened)),
    h("details", null, h("summary", null, "The whole critique"), h("p", { class: "text" }, text)),
  );

  /** @param {number} step */
  function ofStep(step) {
    if (!isAligned) {
      return h(
        "p",
        { class: "notice" },
        `The critique judges ${stepJudgments.length} steps and the solution has ${stepCount}: nobody knows ` +
          "which judgment belongs to which step, and no step earned a reward.",
      );
    }
    const judgment = stepJudgments[step];
    return h(
      "p",
      { class: `of-step text ${judgment ? "right" : "wrong"}` },
      h("strong", null, `Of step ${step + 1}: `),
      critiqueSteps(text)[step] ?? text,
    );
  }
}
