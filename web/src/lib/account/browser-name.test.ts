import { words } from '$words/account';
import { expect, it } from 'vitest';
import { browserName } from './browser-name';

it('names browsers and systems, and keeps the names of programs', () => {
  const cases: [string, string][] = [
    ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'Firefox on Linux'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36 Edg/142.0',
      'Edge on Windows',
    ],
    [
      'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Mobile Safari/537.36',
      'Chrome on Android',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1',
      'Safari on iOS',
    ],
    ['Mozilla/5.0 (X11; Linux x86_64) Ladybird', words.sessions.on(words.sessions.browser, 'Linux')],
    ['curl/8.14.1', 'curl/8.14.1'],
    ['', words.sessions.unknown],
  ];
  for (const [userAgent, name] of cases) expect(browserName(userAgent)).toBe(name);
});
