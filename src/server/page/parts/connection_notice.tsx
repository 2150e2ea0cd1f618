import { useState } from "preact/hooks";
import { ApiError } from "../live/api.ts";

/** Says that the server is gone, wants a token, or has a problem of its own. */
export function ConnectionNotice(
  { error, problem }: { error: Error | null; problem: string | null },
) {
  if (error instanceof ApiError && error.status === 401) return <TokenForm />;
  return (
    <div
      role="status"
      class={error === null && problem === null ? "connection" : "connection lost"}
    >
      {error === null
        ? problem
        : `${error.message} Trying again; runs go on without the server, and the page with it.`}
    </div>
  );
}

function TokenForm() {
  const [token, setToken] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    // The server answers with a cookie, which event streams and downloads bring along too.
    location.assign(`/?token=${encodeURIComponent(token)}`);
  };
  return (
    <form class="connection lost" onSubmit={submit}>
      <label>
        {new URLSearchParams(location.search).has("token")
          ? "That is not its token. This server asks for the one it was started with: "
          : "This server asks for the token it was started with: "}
        <input
          type="password"
          autocomplete="off"
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
      </label>
      <button type="submit">Go on</button>
    </form>
  );
}
