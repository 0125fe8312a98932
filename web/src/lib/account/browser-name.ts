import { words } from '$words/account';

const BROWSERS: [string, RegExp][] = [
  ['Edge', /\bEdg(e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /(Chrome|CriOS|Chromium)\//],
  ['Safari', /\bVersion\/[\d.]+.*\bSafari\//],
];
const SYSTEMS: [string, RegExp][] = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(iPhone|iPad|iPod)\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
];

/** Returns the name of a browser from what it says of itself: "Firefox on Linux". Programs keep their own name. */
export function browserName(userAgent: string): string {
  const named = (names: [string, RegExp][]) => names.find(([, pattern]) => pattern.test(userAgent))?.[0];
  const system = named(SYSTEMS);
  const program = userAgent.split(/[\s(]/)[0] || words.sessions.unknown;
  const browser = named(BROWSERS) ?? (program.startsWith('Mozilla/') ? words.sessions.browser : program);
  return system ? words.sessions.on(browser, system) : browser;
}
