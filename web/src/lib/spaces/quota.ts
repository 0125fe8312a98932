export const UNITS = { MB: 1e6, GB: 1e9, TB: 1e12 } as const;
export type Unit = keyof typeof UNITS;

/** Returns how much of a quota is used, in percent; null without a quota. */
export function shareUsed(bytes: number, quota: number | null): number | null {
  if (quota === null) return null;
  if (quota <= 0) return 100;
  return Math.min(100, (bytes / quota) * 100);
}

/** Returns a quota as a person writes it: an amount, with at most three decimals, and its unit. */
export function writeQuota(bytes: number | null): { amount: string; unit: Unit } {
  if (bytes === null) return { amount: '', unit: 'GB' };
  const unit = bytes >= UNITS.TB ? 'TB' : bytes >= UNITS.GB ? 'GB' : 'MB';
  return { amount: String(Math.round((bytes / UNITS[unit]) * 1000) / 1000), unit };
}

/** Reads a quota in bytes; null if the amount is not a number, or is negative. */
export function readQuota(amount: string, unit: Unit): number | null {
  const value = Number(amount.trim().replace(',', '.'));
  if (amount.trim() === '' || !Number.isFinite(value) || value < 0) return null;
  return Math.round(value * UNITS[unit]);
}
