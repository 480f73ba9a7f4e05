// Questions to the server. `body[data-idle]` says whether any is under way, answers being on the page by then.

const token = new URLSearchParams(location.search).get("token") ?? "";
let pending = 0;

function mark() {
  document.body.dataset.idle = String(pending === 0);
}

/** Count as busy until the returned function is called (and what its caller still does has been done). */
export function hold() {
  let held = true;
  pending += 1;
  mark();
  return () => {
    if (!held) return;
    held = false;
    setTimeout(() => {
      pending -= 1;
      mark();
    });
  };
}

/** A question that could not be answered; `message` is a sentence for the reader. */
export class Failure extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function read(response) {
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new Failure(body?.error ?? `The server answered with status ${response.status}.`, response.status);
  if (body === null) throw new Failure("The server's answer could not be read.", response.status);
  return body;
}

export async function get(path, parameters = {}, signal = undefined) {
  const query = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const address = `/api/${path}${query.length ? `?${new URLSearchParams(query)}` : ""}`;
  const release = hold();
  try {
    return await read(await fetch(address, { headers: { "X-Labelweave-Token": token }, cache: "no-store", signal }));
  } catch (error) {
    if (error instanceof Failure || error.name === "AbortError") throw error;
    throw new Failure("The server does not answer. Is “labelweave explore” still running?", 0);
  } finally {
    release();
  }
}

/** One question at a time: a new one ends the one before, whose answer becomes null. */
export class Latest {
  #controller = null;

  cancel() {
    this.#controller?.abort();
  }

  async ask(path, parameters = {}) {
    this.cancel();
    const { signal } = (this.#controller = new AbortController());
    try {
      const answer = await get(path, parameters, signal);
      return signal.aborted ? null : answer;
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }
}

/** A function that waits until calls have stopped for `milliseconds`, and counts as busy meanwhile. */
export function debounce(milliseconds, action) {
  let timer = null;
  let release = null;
  const run = (...values) => {
    run.cancel();
    release = hold();
    timer = setTimeout(() => {
      try {
        action(...values);
      } finally {
        run.cancel();
      }
    }, milliseconds);
  };
  run.cancel = () => {
    clearTimeout(timer);
    release?.();
    release = null;
  };
  return run;
}
