import { groupSamples } from "../../server/page/samples/group_samples.ts";
import { SampleCard } from "../../server/page/samples/sample_card.tsx";
import type { Sample } from "../../run/store/samples_log.ts";

/** Problems shown at a time. */
const PROBLEMS = 3;

/** Solutions of the last step, each step in the colour of the verifier's judgment. */
export function Samples({ samples }: { samples: readonly Sample[] }) {
  const groups = groupSamples(samples).slice(0, PROBLEMS);
  if (groups.length === 0) return null;
  return (
    <section aria-label="Solutions of the last step">
      <h2>Solutions of step {samples[0].step}</h2>
      <div class="groups">
        {groups.map(({ problem, referenceAnswer, samples }, place) => (
          <section class="group" key={problem} aria-label={`Problem ${place + 1}`}>
            <div class="problem">
              <p class="text">{problem}</p>
              <p class="quiet">
                Answer: <code>{referenceAnswer}</code>
              </p>
            </div>
            {samples.map((sample, number) => (
              <SampleCard
                key={`${sample.step} ${number}`}
                sample={sample}
                colour="judgment"
                tokens=""
              />
            ))}
          </section>
        ))}
      </div>
    </section>
  );
}
