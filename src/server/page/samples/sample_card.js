import { h, useState } from "../vendor.js";
import { formatNumber } from "../format.js";
import { Critique } from "./critique.js";
import { SolutionText } from "./solution_text.js";
import { disagrees } from "./step_parts.js";
import { Verdict } from "./verdict.js";

/**
 * @import { Sample } from "../contract.ts"
 */

/**
 * One solution with what the verifier wrote of it.
 *
 * @param {{ sample: Sample, colour: string }} props
 */
export function SampleCard({ sample, colour }) {
  const [opened, setOpened] = useState(/** @type {number | null} */ (null));
  const [which, setWhich] = useState(0);
  const { critiques, correct, answer } = sample;
  const critique = critiques[which];
  return h(
    "article",
    { class: "sample" },
    h(
      "p",
      { class: "facts" },
      h(
        "span",
        { class: correct ? "verdict right" : "verdict wrong" },
        correct ? "✓ right" : "✗ wrong",
      ),
      h("span", null, "answer ", h("code", null, answer ?? "none")),
      critique === undefined
        ? null
        : h("span", null, "verifier says ", h(Verdict, { verdict: critique.verdict })),
      disagrees(sample) ? h("span", { class: "badge warm" }, "disagrees with the truth") : null,
      h("span", { class: "quiet" }, `step ${sample.step}, ${sample.phase}`),
      h(Rewards, { sample }),
    ),
    h(SolutionText, {
      solution: sample,
      critique,
      colour,
      opened,
      open: (step) => setOpened(step === opened ? null : step),
    }),
    critiques.length > 1
      ? h(
        "label",
        { class: "which" },
        "Critique",
        h(
          "select",
          {
            value: which,
            onChange: (
              /** @type {Event & { currentTarget: HTMLSelectElement }} */ { currentTarget },
            ) => setWhich(Number(currentTarget.value)),
          },
          critiques.map((_, place) =>
            h("option", { key: place, value: place }, `${place + 1} of ${critiques.length}`)
          ),
        ),
      )
      : null,
    critique === undefined
      ? null
      : h(Critique, { critique, stepCount: sample.steps.length, opened }),
  );
}

/** @param {{ sample: Sample }} props */
function Rewards({ sample: { rewards, outcomeAdvantage, critiques } }) {
  const facts = Object.entries(rewards ?? {}).map(([name, value]) => [`${name} reward`, value]);
  if (outcomeAdvantage !== undefined) facts.push(["outcome advantage", outcomeAdvantage]);
  const [{ reward, advantage } = {}] = critiques;
  if (reward !== undefined) facts.push(["verifier's reward", reward]);
  if (advantage !== undefined) facts.push(["verifier's advantage", advantage]);
  if (facts.length === 0) return null;
  return h(
    "span",
    { class: "quiet" },
    facts.map(([name, value]) => `${name} ${formatNumber(Number(value))}`).join(", "),
  );
}
