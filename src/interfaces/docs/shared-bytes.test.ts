import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { createSite } from './site.ts'

test('readers of a page share its bytes, and the number of cached origins is bounded', async () => {
  const site = createSite(await loadContracts(), '2026-11-21')
  const bodyOf = (path: string, origin: string): Buffer => {
    const found = site.at(path, new URLSearchParams(), origin)
    assert.ok(found !== null && 'body' in found)
    return found.body
  }
  const paths = ['/v1/openapi.json', '/docs', '/docs/style.css', '/docs/images/preview-dark.png']
  for (const path of paths) assert.equal(bodyOf(path, 'http://a.localhost'), bodyOf(path, 'http://a.localhost'), path)
  const first = bodyOf('/v1/openapi.json', 'http://a.localhost')
  const names = Math.ceil((64 << 20) / first.length)
  for (let i = 0; i < names; i += 1) bodyOf('/v1/openapi.json', `http://b${i}.localhost`)
  assert.notEqual(bodyOf('/v1/openapi.json', 'http://a.localhost'), first)
})
