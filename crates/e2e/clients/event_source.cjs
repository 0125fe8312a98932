// An EventSource as browsers have it, against a started program: follows a run to its end, and comes back by itself as
// browsers do. Prints the events when it was told that there is nothing more.
const { EventSource } = require("eventsource");

const [url, token] = process.argv.slice(2);
const headers = token ? { authorization: `Bearer ${token}` } : {};
const events = [];
let opened = 0;
const source = new EventSource(url, {
  fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, ...headers } }),
});
source.onopen = () => (opened += 1);
for (const name of ["agent_start", "agent_progress", "agent_complete", "phase_complete"]) {
  source.addEventListener(name, (event) => {
    events.push({ id: Number(event.lastEventId), name, data: JSON.parse(event.data) });
  });
}
source.onerror = () => {
  if (source.readyState !== EventSource.CLOSED) return;
  console.log(JSON.stringify({ opened, events }));
};
