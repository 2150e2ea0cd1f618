/** Tabs by the pattern that screen readers know: arrow keys move, Home and End go to the ends. */
export function Tabs(
  { label, names, chosen, choose }: {
    label: string;
    names: readonly [string, string][];
    chosen: string;
    choose: (name: string) => void;
  },
) {
  const onKey = (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
    const place = names.findIndex(([name]) => name === chosen);
    const last = names.length - 1;
    const next = {
      ArrowRight: place === last ? 0 : place + 1,
      ArrowLeft: place === 0 ? last : place - 1,
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(names[next][0]);
    document.getElementById(`tab-${names[next][0]}`)?.focus();
  };
  return (
    <div role="tablist" aria-label={label} class="tabs" onKeyDown={onKey}>
      {names.map(([name, title]) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`tab-${name}`}
          aria-selected={name === chosen ? "true" : "false"}
          aria-controls="tab-panel"
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => choose(name)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
