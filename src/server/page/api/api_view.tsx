import { useLoaded } from "../live/use_loaded.ts";
import { Failure } from "../parts/failure.tsx";
import {
  type Answer,
  type OpenApi,
  type Operation,
  type OperationGroup,
  operationGroups,
} from "./operations.ts";
import type { TypedField } from "./schema_types.ts";

/** What programs can ask this server: its own description, to be read. */
export function ApiView() {
  const { answer, error } = useLoaded<OpenApi>("/openapi.json");
  const groups = answer === null ? [] : operationGroups(answer, location.origin);
  return (
    <article class="api" aria-labelledby="api-title">
      <h1 id="api-title">The API</h1>
      <p class="quiet">
        All that this page does, for programs. The same for machines:{" "}
        <a href="/openapi.json">openapi.json</a>. An error is application/problem+json, whose detail
        says what is wrong and whose field names what is to blame.
      </p>
      <Failure error={error} />
      {groups.map((group) => <Group key={group.title} group={group} />)}
    </article>
  );
}

function Group({ group: { title, operations } }: { group: OperationGroup }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {operations.map((operation) => <OperationView key={operation.id} operation={operation} />)}
    </section>
  );
}

function OperationView(
  { operation: { id, method, path, summary, inputs, answers, command } }: { operation: Operation },
) {
  const isOpen = location.hash === `#${id}`;
  return (
    <details class="operation" id={id} open={isOpen}>
      <summary>
        <code class={`method ${method.toLowerCase()}`}>{method}</code>
        <code>{path}</code>
        <span class="quiet">{summary}</span>
      </summary>
      <pre class="text" tabIndex={0} aria-label="As a command">{command}</pre>
      {inputs.length > 0 && (
        <Fields
          caption="What is asked"
          fields={inputs.map(({ place, description, ...input }) => ({
            ...input,
            description: `${place}${description === "" ? "" : `: ${description}`}`,
          }))}
          isRequiredShown
        />
      )}
      {answers.map((answer) => <AnswerView key={answer.status} answer={answer} />)}
      <p>
        <a href={`#${id}`}>Link to this</a>
      </p>
    </details>
  );
}

function AnswerView({ answer: { status, description, type, fields } }: { answer: Answer }) {
  return (
    <div>
      <p>
        <strong>{status}</strong> {description} {type !== "" && <code class="quiet">{type}</code>}
      </p>
      {fields.length > 0 && (
        <Fields caption={`What ${status} answers`} fields={fields} isRequiredShown={false} />
      )}
    </div>
  );
}

function Fields(
  { caption, fields, isRequiredShown }: {
    caption: string;
    fields: readonly TypedField[];
    isRequiredShown: boolean;
  },
) {
  return (
    <div class="wide-table" tabIndex={0} role="group" aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {["Name", "Type", ""].map((title, place) =>
              title === ""
                ? (
                  <th scope="col" key={place}>
                    <span class="unseen">Meaning</span>
                  </th>
                )
                : <th scope="col" key={place}>{title}</th>
            )}
          </tr>
        </thead>
        <tbody>
          {fields.map(({ name, type, isRequired, description }) => (
            <tr key={name}>
              <th scope="row">
                <code>{name === "" ? "the body" : name}</code>
                {isRequiredShown && isRequired && " (needed)"}
              </th>
              <td>
                <code>{type}</code>
              </td>
              <td>{description}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
