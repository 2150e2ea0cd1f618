import { formatValue } from "../format.ts";
import type { DataPreview } from "../../routes/datasets.ts";

/** The first rows, with the kinds of values that each column has. */
export function PreviewTable(
  { preview: { rows, isWhole, columns, first } }: { preview: DataPreview },
) {
  return (
    <div class="wide-table preview" tabIndex={0} role="region" aria-label="The first rows">
      <table>
        <caption>{`${first.length} of ${isWhole ? "" : "more than "}${rows} rows`}</caption>
        <thead>
          <tr>
            {columns.map(({ name, kinds }) => (
              <th scope="col" key={name}>
                {name} <span class="quiet">{kinds.join(", ")}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first.map((row, place) => (
            <tr key={place}>
              {columns.map(({ name }) => (
                <td key={name}>{row[name] === undefined ? "" : formatValue(row[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
