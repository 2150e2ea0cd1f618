import { useState } from "preact/hooks";
import { runPath } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { go, useRoute } from "../live/route.ts";
import { Failure } from "../parts/failure.tsx";
import { groupSamples } from "./group_samples.ts";
import { SampleCard } from "./sample_card.tsx";
import { SampleTools } from "./sample_tools.tsx";
import { TokenLegend } from "./token_legend.tsx";
import type { Sample } from "../../../run/store/samples_log.ts";
import type { PageState } from "../url_state.ts";

/** Solutions and critiques by problem, of one run or of two side by side. */
export function SampleBrowser(
  { ids, stepOf }: { ids: readonly string[]; stepOf: (id: string) => number },
) {
  const route = useRoute();
  return (
    <>
      <SampleTools route={route} />
      {route.tokens !== "" && <TokenLegend by={route.tokens} />}
      <div class={ids.length > 1 ? "samples two" : "samples"}>
        {ids.map((id) => (
          <SampleColumn key={id} id={id} route={route} done={stepOf(id)} isOne={ids.length === 1} />
        ))}
      </div>
    </>
  );
}

function SampleColumn(
  { id, route, done, isOne }: {
    id: string;
    route: PageState;
    /** The run's steps. */
    done: number;
    isOne: boolean;
  },
) {
  const { step, group, filter, page, colour, tokens } = route;
  const path = runPath(id, "samples", { step, group, filter, page });
  // What somebody reads does not move away under their eyes: newer samples come when they are asked for.
  const [seen, setSeen] = useState(done);
  const { answer, error } = useLoaded<{ samples: Sample[]; pages: number }>(path, seen);
  const groups = groupSamples(answer?.samples ?? []);
  return (
    <section class="sample-column" aria-label={`Samples of ${id}`}>
      {!isOne && <h2>{id}</h2>}
      <Failure error={error} />
      {done !== seen && (
        <button type="button" onClick={() => setSeen(done)}>Load newer samples</button>
      )}
      {answer === null && error === null && <p class="quiet">Loading …</p>}
      {answer !== null && groups.length === 0 && <p class="quiet">No samples here.</p>}
      <div class="groups">
        {groups.map((one, place) => (
          <section
            class="group"
            key={one.problem}
            aria-label={`${isOne ? "" : `${id}, `}problem ${place + 1}: ${
              one.problem.slice(0, 60)
            }`}
          >
            <div class="problem">
              <p class="text">{one.problem}</p>
              <p class="quiet">
                Answer: <code>{one.referenceAnswer}</code>
                {group === "" && (
                  <button
                    type="button"
                    class="plain"
                    onClick={() => go({ group: one.problem, step: null, page: 1 })}
                  >
                    Only this problem
                  </button>
                )}
              </p>
            </div>
            {one.samples.map((sample, number) => (
              <SampleCard
                key={`${sample.step} ${sample.phase} ${number}`}
                sample={sample}
                colour={colour}
                tokens={tokens}
              />
            ))}
          </section>
        ))}
      </div>
      <Pages id={id} page={page} pages={answer?.pages ?? 1} />
    </section>
  );
}

function Pages({ id, page, pages }: { id: string; page: number; pages: number }) {
  if (pages <= 1) return null;
  return (
    <nav class="pages" aria-label={`Pages of samples of ${id}`}>
      <button type="button" disabled={page <= 1} onClick={() => go({ page: page - 1 })}>
        Previous
      </button>
      <span>{page} of {pages}</span>
      <button type="button" disabled={page >= pages} onClick={() => go({ page: page + 1 })}>
        Next
      </button>
    </nav>
  );
}
