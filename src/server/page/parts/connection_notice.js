import { h, useState } from "../vendor.js";
import { ApiError } from "../live/api.js";

/**
 * Says that the server is gone, wants a token, or has a problem of its own.
 *
 * @param {{ error: Error | null, problem: string | null }} props
 */
export function ConnectionNotice({ error, problem }) {
  if (error instanceof ApiError && error.status === 401) return h(TokenForm, null);
  return h(
    "div",
    {
      role: "status",
      class: error === null && problem === null ? "connection" : "connection lost",
    },
    error === null
      ? problem
      : `${error.message} Trying again; runs go on without the server, and the page with it.`,
  );
}

function TokenForm() {
  const [token, setToken] = useState("");
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    // The server answers with a cookie, which event streams and downloads bring along too.
    location.assign(`/?token=${encodeURIComponent(token)}`);
  };
  return h(
    "form",
    { class: "connection lost", onSubmit: submit },
    h(
      "label",
      null,
      new URLSearchParams(location.search).has("token")
        ? "That is not its token. This server asks for the one it was started with: "
        : "This server asks for the token it was started with: ",
      h("input", {
        type: "password",
        autocomplete: "off",
        value: token,
        onInput: (/** @type {Event & { currentTarget: HTMLInputElement }} */ { currentTarget }) =>
          setToken(currentTarget.value),
      }),
    ),
    h("button", { type: "submit" }, "Go on"),
  );
}
