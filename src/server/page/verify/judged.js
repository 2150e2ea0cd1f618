import { Fragment, h, useState } from "../vendor.js";
import { Critique } from "../samples/critique.js";
import { SolutionText } from "../samples/solution_text.js";
import { Verdict } from "../samples/verdict.js";

/**
 * @import { JudgedSolution } from "../contract.ts"
 */

/**
 * A solution and its critique: as they are written, and then step by step with the judgments.
 *
 * @param {{ texts: { solution: string, critique: string }, judged: JudgedSolution | null }} props
 */
export function Judged({ texts, judged }) {
  const [opened, setOpened] = useState(/** @type {number | null} */ (null));
  if (judged === null) {
    return h(
      Fragment,
      null,
      texts.solution === "" ? null : h(Written, { title: "Solution", text: texts.solution }),
      texts.critique === "" ? null : h(Written, { title: "Critique", text: texts.critique }),
    );
  }
  const { verdict, stepJudgments, critique: text, step, steps, solution } = judged;
  const critique = { version: 0, text, stepJudgments, verdict };
  return h(
    "section",
    { class: "judged", "aria-live": "polite", "aria-label": "Judgment" },
    h(
      "p",
      { class: "facts" },
      h("span", null, "answer ", h("code", null, judged.answer ?? "none")),
      h("span", null, "verifier says ", h(Verdict, { verdict })),
      h("span", { class: "quiet" }, `as it was after step ${step}`),
    ),
    h(SolutionText, {
      solution: { solution, steps },
      critique,
      colour: "judgment",
      opened,
      open: (chosen) => setOpened(chosen === opened ? null : chosen),
    }),
    h(Critique, { critique, stepCount: steps.length, opened }),
  );
}

/** @param {{ title: string, text: string }} props */
function Written({ title, text }) {
  return h("section", null, h("h2", null, title), h("p", { class: "text" }, text));
}
