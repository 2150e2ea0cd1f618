/** The head of a table; a column without a title has an empty cell. */
export function Head({ titles }: { titles: readonly string[] }) {
  return (
    <thead>
      <tr>
        {titles.map((title) =>
          title === "" ? <td key={title} /> : <th scope="col" key={title}>{title}</th>
        )}
      </tr>
    </thead>
  );
}
