import { h, useMemo, useState } from "../vendor.js";
import { formatNumber } from "../format.js";
import { Critique } from "./critique.js";
import { trainedText } from "./cut_tokens.js";
import { SolutionText } from "./solution_text.js";
import { disagrees } from "./step_parts.js";
import { TokenReader } from "./token_reader.js";
import { numbersOf } from "./token_shades.js";
import { Verdict } from "./verdict.js";

/**
 * @import { Sample } from "../contract.ts"
 * @import { TokenColour } from "./token_shades.js"
 * @import { TokenView } from "./token_text.js"
 */

/**
 * One solution with what the verifier wrote of it.
 *
 * @param {{ sample: Sample, colour: string, tokens: TokenColour }} props colour: of steps
 */
export function SampleCard({ sample, colour, tokens: by }) {
  const [opened, setOpened] = useState(/** @type {number | null} */ (null));
  const [which, setWhich] = useState(0);
  const { critiques, correct, answer } = sample;
  const [chosen, choose] = useState(/** @type {number | null} */ (null));
  const critique = critiques[which];
  const trained = useMemo(() => trainedText(sample), [sample]);
  /** @type {TokenView | null} */
  const view = by === "" || trained === null || numbersOf(trained, by) === null
    ? null
    : { trained, by, chosen, choose };
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
      view: view?.trained.of === "solution" ? view : null,
    }),
    view?.trained.of === "solution" ? h(TokenReader, { view }) : null,
    by === "" || view !== null
      ? null
      : h("p", { class: "quiet" }, whyUncoloured(sample, trained !== null)),
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
    critique === undefined ? null : h(Critique, {
      critique,
      stepCount: sample.steps.length,
      opened,
      view: view?.trained.of === "critique" ? view : null,
    }),
  );
}

/**
 * @param {Sample} sample
 * @param {boolean} hasTokens
 */
function whyUncoloured({ phase, tokens, critiques }, hasTokens) {
  if (hasTokens) {
    return "How far training and sampling differ on these tokens was not measured: they belong to a later mini-batch " +
      "of their step, or the step updated nothing.";
  }
  if (phase === "evaluation") {
    return "An evaluation trains nothing: there is nothing to say of its tokens.";
  }
  return tokens !== undefined || critiques.some((critique) => critique.tokens !== undefined)
    ? "The numbers of this sample's tokens do not fit its text."
    : "This sample was written before runs kept their tokens.";
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
