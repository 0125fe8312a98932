import { createSubscriber } from 'svelte/reactivity';

/** Dates, sizes and numbers in the words of the user's language. */

const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const whole = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: 'compact', compactDisplay: 'long' });

export type Time = number | string | null | undefined;

export function formatDate(time: Time): string {
  return time ? date.format(new Date(time)) : '';
}

export function formatDateTime(time: Time): string {
  return time ? dateTime.format(new Date(time)) : '';
}

/** Returns the time of a day, with seconds. */
export function formatTime(time: Time): string {
  return time ? clock.format(new Date(time)) : '';
}

/** Lets what shows relative times be drawn again, twice a minute, for as long as it is in the page. */
const passing = createSubscriber((update) => {
  const timer = setInterval(update, 30_000);
  return () => clearInterval(timer);
});

/** Returns how long ago something was: "now", "5 minutes ago", "yesterday"; after a month, the date. */
export function formatAgo(time: Time, now?: number): string {
  if (!time) return '';
  if (now === undefined) {
    passing();
    now = Date.now();
  }
  const seconds = (new Date(time).getTime() - now) / 1000;
  const units: [Intl.RelativeTimeFormatUnit, number, number][] = [
    ['minute', 60, 3600],
    ['hour', 3600, 86_400],
    ['day', 86_400, 30 * 86_400],
  ];
  if (Math.abs(seconds) < 60) return relative.format(0, 'second');
  const unit = units.find(([, , limit]) => Math.abs(seconds) < limit);
  return unit ? relative.format(Math.round(seconds / unit[1]), unit[0]) : formatDate(time);
}

export function formatNumber(value: number): string {
  return whole.format(value);
}

/** Returns a large number in words: "8.2 billion". */
export function formatShort(value: number): string {
  return short.format(value);
}

/** Returns an amount of money; of small amounts also what is less than a cent. */
export function formatMoney(amount: number, currency: string): string {
  const maximumFractionDigits = amount > 0 && amount < 1 ? 4 : 2;
  return new Intl.NumberFormat(undefined, {
    style: 'currency',
    currency,
    minimumFractionDigits: 2,
    maximumFractionDigits,
  }).format(amount);
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const power = Math.min(4, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${value.toFixed(value < 10 ? 1 : 0)} ${['', 'kB', 'MB', 'GB', 'TB'][power]}`;
}

/** Returns a duration: "840 ms", "12.3 s", "4 min 5 s", "2 h 3 min". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
