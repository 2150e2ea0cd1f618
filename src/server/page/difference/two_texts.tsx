import { textParts } from "./text_parts.ts";
import type { DifferentText, TextDifference } from "../../../run/difference/samples_difference.ts";

/** The first text that two runs wrote differently, of each run beside that of the other. */
export function TwoTexts({ text, ids }: { text: TextDifference; ids: readonly [string, string] }) {
  const { sample, of, token, begin, a, b } = text;
  return (
    <section aria-labelledby="first-text">
      <h2 id="first-text">The first text that differs</h2>
      <p>
        Of the samples that both keep of this step, sample {sample}, in its {of}:{" "}
        {token === null ? `after ${begin} characters` : `token ${token}`}. What both begin with is
        grey.
      </p>
      <div class="samples two">
        <OneText id={ids[0]} text={a} begin={begin} isToken={token !== null} />
        <OneText id={ids[1]} text={b} begin={begin} isToken={token !== null} />
      </div>
    </section>
  );
}

function OneText(
  { id, text, begin, isToken }: {
    id: string;
    text: DifferentText;
    begin: number;
    /** Whether it is known where the text's tokens end. */
    isToken: boolean;
  },
) {
  const { common, first, rest } = textParts(text, begin);
  return (
    <section class="different-text" aria-label={`Text of ${id}`}>
      <h3>{id}</h3>
      <p class="text">
        <span class="quiet">{common}</span>
        <span class="unseen">{isToken ? "First token that differs: " : "From here on:"}</span>
        <mark>{first === "" ? "▯" : first}</mark>
        {first === "" && (
          <span class="unseen">{rest === "" ? "(the text is over)" : "(no text of its own)"}</span>
        )}
        {rest}
      </p>
    </section>
  );
}
