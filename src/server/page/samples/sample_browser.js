import { Fragment, h, useState } from "../vendor.js";
import { runPath } from "../live/api.js";
import { useLoaded } from "../live/use_loaded.js";
import { go } from "../live/route.js";
import { Failure } from "../parts/failure.js";
import { groupSamples } from "./group_samples.js";
import { SampleCard } from "./sample_card.js";
import { SampleTools } from "./sample_tools.js";
import { TokenLegend } from "./token_legend.js";

/**
 * @import { Sample } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 */

/** @typedef {{ samples: Sample[], pages: number, total?: number }} SamplePage */

/**
 * Solutions and critiques by problem, of one run or of two side by side.
 *
 * @param {{ ids: readonly string[], route: PageState, stepOf: (id: string) => number }} props
 */
export function SampleBrowser({ ids, route, stepOf }) {
  return h(
    Fragment,
    null,
    h(SampleTools, { route }),
    route.tokens === "" ? null : h(TokenLegend, { by: route.tokens }),
    h(
      "div",
      { class: ids.length > 1 ? "samples two" : "samples" },
      ids.map((id) =>
        h(SampleColumn, { key: id, id, route, done: stepOf(id), isOne: ids.length === 1 })
      ),
    ),
  );
}

/**
 * @param {{ id: string, route: PageState, done: number, isOne: boolean }} props done: the run's steps
 */
function SampleColumn({ id, route, done, isOne }) {
  const { step, group, filter, page, colour, tokens } = route;
  const path = runPath(id, "samples", { step, group, filter, page });
  // What somebody reads does not move away under their eyes: newer samples come when they are asked for.
  const [seen, setSeen] = useState(done);
  /** @type {{ answer: SamplePage | null, error: Error | null }} */
  const { answer, error } = useLoaded(path, seen);
  const groups = groupSamples(answer?.samples ?? []);
  return h(
    "section",
    { class: "sample-column", "aria-label": `Samples of ${id}` },
    isOne ? null : h("h2", null, id),
    h(Failure, { error }),
    done === seen
      ? null
      : h("button", { type: "button", onClick: () => setSeen(done) }, "Load newer samples"),
    answer === null && error === null ? h("p", { class: "quiet" }, "Loading …") : null,
    answer !== null && groups.length === 0 ? h("p", { class: "quiet" }, "No samples here.") : null,
    h(
      "div",
      { class: "groups" },
      groups.map((one, place) =>
        h(
          "section",
          {
            class: "group",
            key: one.problem,
            "aria-label": `${isOne ? "" : `${id}, `}problem ${place + 1}: ${
              one.problem.slice(0, 60)
            }`,
          },
          h(
            "div",
            { class: "problem" },
            h("p", { class: "text" }, one.problem),
            h(
              "p",
              { class: "quiet" },
              "Answer: ",
              h("code", null, one.referenceAnswer),
              group === ""
                ? h("button", {
                  type: "button",
                  class: "plain",
                  onClick: () => go({ group: one.problem, step: null, page: 1 }),
                }, "Only this problem")
                : null,
            ),
          ),
          one.samples.map((sample, number) =>
            h(SampleCard, {
              key: `${sample.step} ${sample.phase} ${number}`,
              sample,
              colour,
              tokens,
            })
          ),
        )
      ),
    ),
    h(Pages, { id, page, pages: answer?.pages ?? 1 }),
  );
}

/**
 * @param {{ id: string, page: number, pages: number }} props
 */
function Pages({ id, page, pages }) {
  if (pages <= 1) return null;
  return h(
    "nav",
    { class: "pages", "aria-label": `Pages of samples of ${id}` },
    h(
      "button",
      { type: "button", disabled: page <= 1, onClick: () => go({ page: page - 1 }) },
      "Previous",
    ),
    h("span", null, `${page} of ${pages}`),
    h(
      "button",
      { type: "button", disabled: page >= pages, onClick: () => go({ page: page + 1 }) },
      "Next",
    ),
  );
}
