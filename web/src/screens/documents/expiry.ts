/** Returns a time as the value of a date input: the day of it, here. */
export function dayOf(time: number): string {
  const date = new Date(time);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Returns the beginning of a day of a date input, here; null if it is none. */
export function beginningOf(day: string): number | null {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day)?.map(Number) ?? [];
  if (!year || !month || !date) return null;
  const time = new Date(year, month - 1, date).getTime();
  return Number.isFinite(time) && time >= 0 ? time : null;
}

/** Returns the day after a time: the first on which a document can expire. */
export function dayAfter(now: number): string {
  const date = new Date(now);
  return dayOf(new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1).getTime());
}
