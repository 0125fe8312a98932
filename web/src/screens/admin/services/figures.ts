/** Sums and shapes of the figures of an hour. */

export const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** Returns the value at the middle of a service's hour, each minute weighed by its requests; null without requests. */
export function typical(times: (number | null)[], requests: number[]): number | null {
  const known = times
    .map((time, index) => ({ time, weight: requests[index] ?? 0 }))
    .filter((step): step is { time: number; weight: number } => step.time !== null && step.weight > 0)
    .sort((a, b) => a.time - b.time);
  const half = sum(known.map(({ weight }) => weight)) / 2;
  let passed = 0;
  return known.find(({ weight }) => (passed += weight) >= half)?.time ?? null;
}

export function most(values: (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length ? Math.max(...known) : null;
}

/** Returns the lines of a chart, as the paths of an SVG: a gap where nothing was measured. */
export function path(values: (number | null)[], top: number, width: number, height: number): string {
  const step = width / Math.max(1, values.length - 1);
  let pen = 'M';
  const points = values.map((value, index) => {
    if (value === null) {
      pen = 'M';
      return '';
    }
    const point = `${pen}${(index * step).toFixed(1)} ${(height - (value / (top || 1)) * height).toFixed(1)}`;
    // A minute alone between two gaps is a dot.
    const alone = pen === 'M' && (values[index + 1] ?? null) === null;
    pen = 'L';
    return alone ? `${point}h0.1` : point;
  });
  return points.join('');
}
