import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cookieIn } from './cookies.ts'

test('a cookie is found only under its exact name, and two different values are refused', () => {
  const cases: [header: string | undefined, value: string | null | 'refused'][] = [
    [undefined, null],
    ['', null],
    ['uk_session=a', 'a'],
    ['x=1; uk_session=a;y=2', 'a'],
    ['x=1;\tuk_session = a ', 'a'],
    ['uk_session=a=b', 'a=b'],
    ['uk_session=a; uk_session=a', 'a'],
    ['uk_session=', ''],
    ['uk_session=a; uk_session=b', 'refused'],
    ['uk_session=a; x=1; uk_session=', 'refused'],
    ['uk_session=a; uk_session=b; uk_session=a', 'refused'],
    ['UK_SESSION=a', null],
    ['__Host-uk_session=a', null],
    ['=uk_session=a', null],
    ['uk_session', null],
  ]
  for (const [header, value] of cases)
    if (value === 'refused')
      assert.throws(() => cookieIn(header, 'uk_session'), /two different `uk_session` cookies/, header)
    else assert.equal(cookieIn(header, 'uk_session'), value, header)
})

test('only spaces and tabs before a name are ignored', () => {
  // Browsers refuse other hosts' `__Host-` names, but not names that start with another character.
  for (let code = 0; code < 256; code += 1) {
    const mark = String.fromCharCode(code)
    if (mark === ' ' || mark === '\t' || mark === ';') continue
    for (const header of [`${mark}__Host-uk_session=a`, `__Host-uk_session${mark}=a`])
      assert.equal(header.startsWith('=') || mark === '=' ? null : cookieIn(header, '__Host-uk_session'), null, header)
  }
})
