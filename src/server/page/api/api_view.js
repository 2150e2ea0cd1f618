import { h } from "../vendor.js";
import { useLoaded } from "../live/use_loaded.js";
import { Failure } from "../parts/failure.js";
import { operationGroups } from "./operations.js";

/**
 * @import { OpenApi } from "../contract.ts"
 * @import { Answer, Operation, OperationGroup } from "./operations.js"
 * @import { TypedField } from "./schema_types.js"
 */

/** What programs can ask this server: its own description, to be read. */
export function ApiView() {
  /** @type {{ answer: OpenApi | null, error: Error | null }} */
  const { answer, error } = useLoaded("/openapi.json");
  const groups = answer === null ? [] : operationGroups(answer, location.origin);
  return h(
    "article",
    { class: "api", "aria-labelledby": "api-title" },
    h("h1", { id: "api-title" }, "The API"),
    h(
      "p",
      { class: "quiet" },
      "All that this page does, for programs. The same for machines: ",
      h("a", { href: "/openapi.json" }, "openapi.json"),
      ". An error is application/problem+json, whose detail says what is wrong and whose field names what is to " +
        "blame.",
    ),
    h(Failure, { error }),
    groups.map((group) => h(Group, { key: group.title, group })),
  );
}

/** @param {{ group: OperationGroup }} props */
function Group({ group: { title, operations } }) {
  return h(
    "section",
    { "aria-label": title },
    h("h2", null, title),
    operations.map((operation) => h(OperationView, { key: operation.id, operation })),
  );
}

/** @param {{ operation: Operation }} props */
function OperationView({ operation: { id, method, path, summary, inputs, answers, command } }) {
  const isOpen = location.hash === `#${id}`;
  return h(
    "details",
    { class: "operation", id, open: isOpen },
    h(
      "summary",
      null,
      h("code", { class: `method ${method.toLowerCase()}` }, method),
      h("code", null, path),
      h("span", { class: "quiet" }, summary),
    ),
    h("pre", { class: "text", tabIndex: 0, "aria-label": "As a command" }, command),
    inputs.length === 0 ? null : h(Fields, {
      caption: "What is asked",
      fields: inputs.map(({ place, description, ...input }) => ({
        ...input,
        description: `${place}${description === "" ? "" : `: ${description}`}`,
      })),
      isRequiredShown: true,
    }),
    answers.map((answer) => h(AnswerView, { key: answer.status, answer })),
    h("p", null, h("a", { href: `#${id}` }, "Link to this")),
  );
}

/** @param {{ answer: Answer }} props */
function AnswerView({ answer: { status, description, type, fields } }) {
  return h(
    "div",
    null,
    h(
      "p",
      null,
      h("strong", null, status),
      ` ${description} `,
      type === "" ? null : h("code", { class: "quiet" }, type),
    ),
    fields.length === 0
      ? null
      : h(Fields, { caption: `What ${status} answers`, fields, isRequiredShown: false }),
  );
}

/** @param {{ caption: string, fields: readonly TypedField[], isRequiredShown: boolean }} props */
function Fields({ caption, fields, isRequiredShown }) {
  return h(
    "div",
    { class: "wide-table", tabIndex: 0, role: "group", "aria-label": caption },
    h(
      "table",
      null,
      h("caption", null, caption),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          ["Name", "Type", ""].map((title, place) =>
            title === ""
              ? h("th", { scope: "col", key: place }, h("span", { class: "unseen" }, "Meaning"))
              : h("th", { scope: "col", key: place }, title)
          ),
        ),
      ),
      h(
        "tbody",
        null,
        fields.map(({ name, type, isRequired, description }) =>
          h(
            "tr",
            { key: name },
            h(
              "th",
              { scope: "row" },
              h("code", null, name === "" ? "the body" : name),
              isRequiredShown && isRequired ? " (needed)" : null,
            ),
            h("td", null, h("code", null, type)),
            h("td", null, description),
          )
        ),
      ),
    ),
  );
}
