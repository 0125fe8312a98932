import { expect, test } from 'vitest';
import { bodyOf, locate, type TextRun } from './locate';

/** Lines of a page, 10 units high and 1 unit per character, from the top. */
const page = (...lines: string[]): TextRun[] =>
  lines.map((str, line) => ({
    str,
    width: str.length,
    height: 10,
    transform: [10, 0, 0, 10, 0, 100 - line * 12],
  }));

/** The marked text, as the characters between the left and right edge of each quadrilateral. */
function marked(runs: TextRun[], passage: string): string[] {
  return locate(runs, passage).map((quad) => {
    const [x, y] = [quad.map(([x]) => x), quad[0]![1] + 2.2];
    const run = runs.find(({ transform }) => Math.abs(transform[5]! - y) < 0.01)!;
    return run.str.slice(Math.round(Math.min(...x)), Math.round(Math.max(...x)));
  });
}

test('a passage is found over line ends, hyphens, ligatures and case', () => {
  const runs = page('Intro. The eﬃcient fil-', 'ter OFFICE fits here. End of', 'page.');
  expect(marked(runs, 'The efficient filter office fits here.')).toEqual([
    'The eﬃcient fil-',
    'ter OFFICE fits here',
  ]);
});

test('a passage that is not on the page is not marked', () => {
  expect(locate(page('Something else altogether.'), 'The efficient filter office fits here.')).toEqual([]);
  expect(locate(page('Something'), ' – ')).toEqual([]);
});

test('a passage that is there twice is not marked, because it is not certain which is meant', () => {
  expect(locate(page('Valve V-7 opens.', 'Valve V-7 opens.'), 'Valve V-7 opens.')).toEqual([]);
});

test('a passage with a footer in between is marked by its sentences', () => {
  const runs = page(
    'The pump circulates coolant in the hall.',
    'Page 3',
    'The valve opens at three bar of pressure.',
  );
  const passage = 'The pump circulates coolant in the hall. The valve opens at three bar of pressure.';
  expect(marked(runs, passage)).toEqual([runs[0]!.str, runs[2]!.str]);
});

test('a passage of which most is elsewhere is not marked', () => {
  const runs = page('The pump circulates coolant in the hall.', 'Other text.');
  const passage =
    'The pump circulates coolant in the hall. ' + 'Some sentence that this page does not have. '.repeat(3);
  expect(locate(runs, passage)).toEqual([]);
});

test('a passage that was read across two columns is marked in both', () => {
  const left = ['The pump circulates cool-', 'ant through the north hall', 'and back to the basin.'];
  const right = ['Its seal is replaced by the', 'second crew whenever it', 'has run for 500 hours.'];
  const across = left.map((line, i) => `${line.replaceAll(' ', ' | ')} | ${right[i]}`).join('\n');
  const runs = page(...left, ...right, 'Another section begins below both of the columns.');
  expect(marked(runs, across)).toEqual([...left, ...right]);
});

test('rotated text is marked along its own direction', () => {
  const [quad] = locate(
    [{ str: 'vertical text', width: 13, height: 10, transform: [0, 10, -10, 0, 50, 20] }],
    'vertical text',
  );
  const [x, y] = [quad!.map(([x]) => x), quad!.map(([, y]) => y)];
  expect([Math.max(...y) - Math.min(...y), Math.round(Math.max(...x) - Math.min(...x))]).toEqual([13, 11]);
});

test('the body of a page is what most of its letters are', () => {
  const heading = { str: 'Turbines', width: 90, height: 24, transform: [24, 0, 0, 24, 40, 700] };
  const blank = { str: ' ', width: 5, height: 10, transform: [10, 0, 0, 10, 3, 600] };
  expect(bodyOf([heading, blank, ...page('A long line of the body.', 'And one more of them.')])).toEqual({
    left: 0,
    height: 10,
  });
  expect(bodyOf([blank])).toBe(null);
});
