/** A field whose words say which entries of a list are shown. */
export function SearchField(
  { label, wanted, onInput }: { label: string; wanted: string; onInput: (words: string) => void },
) {
  return (
    <label class="field">
      {label}
      <input
        type="search"
        value={wanted}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </label>
  );
}
