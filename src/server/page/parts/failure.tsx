/** Says why something could not be loaded or done. */
export function Failure({ error }: { error: Error | null }) {
  return error === null ? null : <p class="notice bad" role="alert">{error.message}</p>;
}
