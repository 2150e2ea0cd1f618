import { h, useEffect, useState } from "../vendor.js";
import { formatSize } from "../format.js";
import { send } from "../live/api.js";
import { useLoaded } from "../live/use_loaded.js";
import { Failure } from "../parts/failure.js";

/**
 * @import { ModelList, Pull } from "../contract.ts"
 */

const LOOK_MS = 2000;

/** Models that runs can start from, and fetching one. */
export function Models() {
  const [version, setVersion] = useState(0);
  /** @type {{ answer: ModelList | null, error: Error | null }} */
  const { answer, error } = useLoaded("/api/models", version);
  const { models = [], pulls = [] } = answer ?? {};
  const isPulling = pulls.some(({ state }) => state === "running");
  useEffect(() => {
    if (!isPulling) return;
    const timer = setInterval(() => setVersion((number) => number + 1), LOOK_MS);
    return () => clearInterval(timer);
  }, [isPulling]);
  return h(
    "article",
    { class: "start", "aria-labelledby": "models-title" },
    h("h1", { id: "models-title" }, "Models"),
    h(Failure, { error }),
    h(PullForm, { onBegun: () => setVersion((number) => number + 1) }),
    pulls.map((pull) => h(PullProgress, { key: pull.path, pull })),
    answer !== null && models.length === 0 ? h("p", { class: "quiet" }, "None yet.") : null,
    models.length === 0 ? null : h(
      "table",
      null,
      h("caption", null, "By the path that a configuration calls them."),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          ["Path", "Kind", "Weights"].map((title) => h("th", { scope: "col", key: title }, title)),
        ),
      ),
      h(
        "tbody",
        null,
        models.map(({ path, kind, bytes }) =>
          h(
            "tr",
            { key: path },
            h("th", { scope: "row" }, path),
            h("td", null, kind),
            h("td", null, formatSize(bytes)),
          )
        ),
      ),
    ),
  );
}

/** @param {{ onBegun: () => void }} props */
function PullForm({ onBegun }) {
  const [id, setId] = useState("");
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    setError(null);
    try {
      await send("POST", "/api/models/pull", { body: { id } });
      setId("");
      onBegun();
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
    }
  };
  return h(
    "form",
    { onSubmit: submit },
    h(
      "div",
      { class: "field" },
      h("label", { for: "pull-id" }, "Fetch from the Hugging Face Hub"),
      h("input", {
        id: "pull-id",
        value: id,
        "aria-describedby": "pull-hint",
        onInput: (/** @type {Event & { currentTarget: HTMLInputElement }} */ { currentTarget }) =>
          setId(currentTarget.value),
      }),
      h(
        "p",
        { class: "hint", id: "pull-hint" },
        "owner/name; what is here already is not fetched again",
      ),
    ),
    h("button", { type: "submit", disabled: id === "" }, "Fetch"),
    h(Failure, { error }),
  );
}

/** @param {{ pull: Pull }} props */
function PullProgress({ pull: { id, state, arrived, total, error } }) {
  if (state === "failed") return h(Failure, { error: new Error(`${id}: ${error}`) });
  return h(
    "p",
    { role: "status" },
    `${id}: `,
    state === "done" ? "here" : `${formatSize(arrived)} of ${formatSize(total)} `,
    state === "done" ? null : h("progress", {
      max: total ?? 1,
      value: arrived,
      "aria-label": `${id}, bytes that are here`,
    }),
  );
}
