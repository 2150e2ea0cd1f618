import { h } from "../vendor.js";
import { formatNumber } from "../format.js";
import { cutTokens } from "./cut_tokens.js";
import { stepJudgments, stepParts } from "./step_parts.js";
import { choosing, TokenText } from "./token_text.js";

/**
 * @import { CritiqueSample, Sample } from "../contract.ts"
 * @import { TokenView } from "./token_text.js"
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
 * @param {TokenView | null} [props.view] its tokens, where they are looked at
 */
export function SolutionText({ solution, critique, colour, opened, open, view = null }) {
  const judgments = stepJudgments(solution.steps.length, critique);
  const parts = stepParts(solution.solution, solution.steps);
  const pieces = view && cutTokens(parts.map(({ text }) => text), view.trained.ends);
  return h(
    "div",
    { class: "solution text", onClick: view === null ? undefined : choosing(view) },
    parts.map(({ text, step }, place) => {
      const content = pieces && view ? h(TokenText, { pieces: pieces[place], view }) : text;
      if (step === null) return h("span", { key: place, class: "between" }, content);
      const { tone, mark, words } = colour === "advantage"
        ? describeAdvantage(solution.stepAdvantages?.[step])
        : describeJudgment(judgments[step]);
      const known = {
        key: place,
        class: `solution-step ${tone}${view === null ? "" : " by-token"}`,
        title: `Step ${step + 1}: ${words}`,
      };
      const marked = h("span", { class: "mark", "aria-hidden": "true" }, mark);
      if (critique === undefined) {
        const said = h("span", { class: "unseen" }, `Step ${step + 1}, ${words}: `);
        return h("span", known, marked, said, content);
      }
      return h(
        "button",
        {
          ...known,
          type: "button",
          "aria-expanded": opened === step ? "true" : "false",
          "aria-label": `Step ${step + 1}, ${words}: ${text}`,
          onClick: (/** @type {MouseEvent} */ { target }) => {
            // Who looks from token to token wants the critique to stay.
            const isToken = target instanceof Element && target.closest("[data-token]") !== null;
            if (!(isToken && opened === step)) open(step);
          },
        },
        marked,
        content,
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
