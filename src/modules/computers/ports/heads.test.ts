import assert from 'node:assert/strict'
import { test } from 'node:test'
import { responseHead } from './heads.ts'

test('programs can set cookies only for their own origin', () => {
  const cookieAfter = (cookie: string): string | undefined => responseHead(['Set-Cookie', cookie])[1]
  const own = 'a=1; Path=/x; HttpOnly; SameSite=Lax; Max-Age=60'
  assert.equal(cookieAfter(own), own)
  assert.equal(cookieAfter('a=b=c'), 'a=b=c')
  for (const far of ['Domain=example.com', 'domain =example.com', ' \tDOMAIN\t= .example.com', 'Domain', 'future=1'])
    assert.equal(cookieAfter(`a=1;${far};Path=/`), 'a=1;Path=/', far)
  for (const ours of [
    'uk_session=x',
    '__Host-uk_session=x; Path=/',
    ' uk_preview =x',
    // Browsers send a nameless cookie as its bare value.
    '=uk_session=x',
    ' = uk_preview=x',
    '=__Host-uk_preview=x',
    'uk_session',
  ])
    assert.equal(cookieAfter(ours), undefined, ours)
})
