import { useMemo, useState } from "preact/hooks";
import { formatNumber } from "../format.ts";
import { Choice } from "../parts/choice.tsx";
import { Critique } from "./critique.tsx";
import { trainedText } from "./cut_tokens.ts";
import { SolutionText } from "./solution_text.tsx";
import { disagrees } from "./step_parts.ts";
import { TokenReader } from "./token_reader.tsx";
import { numbersOf } from "./token_shades.ts";
import { Verdict } from "./verdict.tsx";
import type { Sample } from "../../../run/store/samples_log.ts";
import type { PageState } from "../url_state.ts";
import type { TokenView } from "./token_text.tsx";

/** One solution with what the verifier wrote of it. */
export function SampleCard(
  { sample, colour, tokens: by }: { sample: Sample } & Pick<PageState, "colour" | "tokens">,
) {
  const [opened, setOpened] = useState<number | null>(null);
  const [which, setWhich] = useState(0);
  const { critiques, correct, answer } = sample;
  const [chosen, choose] = useState<number | null>(null);
  const critique = critiques[which];
  const trained = useMemo(() => trainedText(sample), [sample]);
  const view: TokenView | null = by === "" || trained === null || numbersOf(trained, by) === null
    ? null
    : { trained, by, chosen, choose };
  return (
    <article class="sample">
      <p class="facts">
        <span class={correct ? "verdict right" : "verdict wrong"}>
          {correct ? "✓ right" : "✗ wrong"}
        </span>
        <span>
          answer <code>{answer ?? "none"}</code>
        </span>
        {critique !== undefined && (
          <span>
            verifier says <Verdict verdict={critique.verdict} />
          </span>
        )}
        {disagrees(sample) && <span class="badge warm">disagrees with the truth</span>}
        <span class="quiet">step {sample.step}, {sample.phase}</span>
        <Rewards sample={sample} />
      </p>
      <SolutionText
        solution={sample}
        critique={critique}
        colour={colour}
        opened={opened}
        open={(step) => setOpened(step === opened ? null : step)}
        view={view?.trained.of === "solution" ? view : null}
      />
      {view?.trained.of === "solution" && <TokenReader view={view} />}
      {by !== "" && view === null && <p class="quiet">{whyUncoloured(sample, trained !== null)}</p>}
      {critiques.length > 1 && (
        <Choice
          class="which"
          label="Critique"
          value={String(which)}
          options={critiques.map((_, place) => [`${place}`, `${place + 1} of ${critiques.length}`])}
          onChange={(place) => setWhich(Number(place))}
        />
      )}
      {critique !== undefined && (
        <Critique
          critique={critique}
          stepCount={sample.steps.length}
          opened={opened}
          view={view?.trained.of === "critique" ? view : null}
        />
      )}
    </article>
  );
}

function whyUncoloured({ phase, tokens, critiques }: Sample, hasTokens: boolean) {
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

function Rewards({ sample: { rewards, outcomeAdvantage, critiques } }: { sample: Sample }) {
  const facts = Object.entries(rewards ?? {}).map(([name, value]) => [`${name} reward`, value]);
  if (outcomeAdvantage !== undefined) facts.push(["outcome advantage", outcomeAdvantage]);
  const [{ reward, advantage } = {}] = critiques;
  if (reward !== undefined) facts.push(["verifier's reward", reward]);
  if (advantage !== undefined) facts.push(["verifier's advantage", advantage]);
  if (facts.length === 0) return null;
  return (
    <span class="quiet">
      {facts.map(([name, value]) => `${name} ${formatNumber(Number(value))}`).join(", ")}
    </span>
  );
}
