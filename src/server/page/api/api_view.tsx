import { useLoaded } from "../live/use_loaded.ts";
import { Failure } from "../parts/failure.tsx";
import { type ApiOperation, type OpenApi, operationGroups } from "./operations.ts";
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
      {groups.map(({ title, operations }) => (
        <section aria-label={title} key={title}>
          <h2>{title}</h2>
          {operations.map((one) => <OperationView key={one.id} operation={one} />)}
        </section>
      ))}
    </article>
  );
}

function OperationView(
  { operation: { id, method, path, summary, inputs, answers, command } }: {
    operation: ApiOperation;
  },
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
      {answers.map(({ status, description, type, fields }) => (
        <div key={status}>
          <p>
            <strong>{status}</strong> {description}{" "}
            {type !== "" && <code class="quiet">{type}</code>}
          </p>
          {fields.length > 0 && <Fields caption={`What ${status} answers`} fields={fields} />}
        </div>
      ))}
      <p>
        <a href={`#${id}`}>Link to this</a>
      </p>
    </details>
  );
}

function Fields(
  { caption, fields, isRequiredShown = false }: {
    caption: string;
    fields: readonly TypedField[];
    isRequiredShown?: boolean;
  },
) {
  return (
    <div class="wide-table" tabIndex={0} role="group" aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            <th scope="col">
              <span class="unseen">Meaning</span>
            </th>
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
