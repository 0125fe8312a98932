/** How many characters the name and the description of a project have at most. */
export const MOST = { name: 200, seed: 100_000 };
