import { formatNumber } from "../format.ts";
import { cutTokens } from "./cut_tokens.ts";
import { stepJudgments, stepParts } from "./step_parts.ts";
import { choosing, TokenText, type TokenView } from "./token_text.tsx";
import type { CritiqueSample, Sample } from "../../../run/store/samples_log.ts";

/** A solution as it was written, each step a button in the colour of what was said of it. */
export function SolutionText({
  solution,
  critique,
  colour,
  opened,
  open,
  view = null,
}: {
  readonly solution: Pick<Sample, "solution" | "steps" | "stepAdvantages">;
  readonly critique: CritiqueSample | undefined;
  readonly colour: string;
  readonly opened: number | null;
  readonly open: (step: number) => void;
  /** Its tokens, where they are looked at. */
  readonly view?: TokenView | null;
}) {
  const judgments = stepJudgments(solution.steps.length, critique);
  const parts = stepParts(solution.solution, solution.steps);
  const pieces = view && cutTokens(parts.map(({ text }) => text), view.trained.ends);
  return (
    <div class="solution text" onClick={view === null ? undefined : choosing(view)}>
      {parts.map(({ text, step }, place) => {
        const content = pieces && view ? <TokenText pieces={pieces[place]} view={view} /> : text;
        if (step === null) return <span key={place} class="between">{content}</span>;
        const { tone, mark, words } = colour === "advantage"
          ? describeAdvantage(solution.stepAdvantages?.[step])
          : describeJudgment(judgments[step]);
        const known = {
          class: `solution-step ${tone}${view === null ? "" : " by-token"}`,
          title: `Step ${step + 1}: ${words}`,
        };
        const marked = <span class="mark" aria-hidden="true">{mark}</span>;
        if (critique === undefined) {
          const said = <span class="unseen">{`Step ${step + 1}, ${words}: `}</span>;
          return <span key={place} {...known}>{marked}{said}{content}</span>;
        }
        return (
          <button
            key={place}
            {...known}
            type="button"
            aria-expanded={opened === step ? "true" : "false"}
            aria-label={`Step ${step + 1}, ${words}: ${text}`}
            onClick={({ target }) => {
              // Who looks from token to token wants the critique to stay.
              const isToken = target instanceof Element && target.closest("[data-token]") !== null;
              if (!(isToken && opened === step)) open(step);
            }}
          >
            {marked}
            {content}
          </button>
        );
      })}
    </div>
  );
}

function describeJudgment(judgment: boolean | null) {
  if (judgment === null) return { tone: "none", mark: "?", words: "not judged" };
  return judgment
    ? { tone: "right", mark: "✓", words: "judged correct" }
    : { tone: "wrong", mark: "✗", words: "judged incorrect" };
}

function describeAdvantage(advantage: number | undefined) {
  if (advantage === undefined) return { tone: "none", mark: "–", words: "no advantage" };
  const tone = advantage > 0 ? "raised" : advantage < 0 ? "lowered" : "none";
  const strength = Math.abs(advantage) > 1 ? " strong" : "";
  return {
    tone: tone + strength,
    mark: `${advantage > 0 ? "+" : ""}${formatNumber(advantage)}`,
    words: `advantage ${formatNumber(advantage)}`,
  };
}
