// Thorough: run by the merge check, or by name.
/**
 * Expensive JSON would block the process for seconds, so every route that accepts large bodies refuses it before
 * parsing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { loadContracts } from '#modules/contracts.ts'
import { surfaces } from '#gateway/mount.ts'
import { newId } from '#core/ids.ts'
import { list } from '#core/registry.ts'
import { checkShape } from '#core/json/json-text.ts'
import { testServer } from '../../server.ts'
import { pathOf, requiredFields } from '../least-call.ts'

const SIZE = 5 << 20
const fill = (before: string, one: string, behind: string): string =>
  before + one.repeat(Math.floor((SIZE - before.length - behind.length) / one.length)) + behind
const heavy: Record<string, () => string> = {
  'lists in lists': () => fill('{"a":', '[', ''),
  'lists in lists that end': () => fill('{"a":', '[', '') + ']'.repeat(SIZE - 5) + '}',
  'objects in objects': () => fill('', '{"a":', '1'),
  'empty objects': () => fill('{"a":[', '{},', '1]}'),
  'empty texts': () => fill('{"a":[', '"",', '1]}'),
  'a name each': () => `{${Array.from({ length: 1_000_001 }, (_, n) => `"${n.toString(36)}":1`).join()}}`,
}

const parse = JSON.parse
const pad = ' '.repeat(65_537)
const depthOf = (value: unknown): number =>
  value === null || typeof value !== 'object'
    ? 0
    : 1 + Math.max(0, ...Object.values(value).map((inner) => depthOf(inner)))
const refuses = (text: string, deepest: number): boolean => {
  try {
    checkShape(Buffer.from(text + pad), deepest)
    return false
  } catch {
    return true
  }
}

test('large JSON that only has depth or tiny values is refused without parsing on every route', async (t) => {
  await using server = await testServer()
  const key = await (await server.person('Alice')).key()
  const own = list(await loadContracts()).filter(({ endpoint }) => (endpoint.bodyLimit ?? 0) > 2 * SIZE)
  const ways = [
    ...own.map(({ endpoint }) => [endpoint.method, pathOf(endpoint, newId()) + requiredFields(endpoint)] as const),
    ...surfaces.flatMap(({ roots: [root], routes }) =>
      Object.entries(routes).flatMap(([path, methods]) =>
        methods['POST'] === 'generate' || methods['POST'] === 'count_tokens' ? [['POST', root + path] as const] : [],
      ),
    ),
  ]
  assert.ok(ways.length > 15, String(ways.length))
  // The server runs in this process, so its parse calls can be counted.
  let parseCount = 0
  t.mock.method(JSON, 'parse', (...args: Parameters<typeof parse>) => {
    if (args[0].length > SIZE / 2) parseCount++
    return parse(...args)
  })
  const ask = (way: readonly [string, string], body: string) => key.request(way[0], way[1], Buffer.from(body))
  const plain = fill('{"a":"', 'x', '"}')
  // All kinds on the first route of the platform and of the gateways, one kind on each other route.
  const first = new Set([ways[0], ways[own.length]])
  await ask(ways[0]!, plain)
  assert.equal(parseCount, 1, 'a long text is parsed')
  for (const [n, [kind, makeBody]] of Object.entries(heavy).entries()) {
    const body = makeBody()
    for (const [i, way] of ways.entries()) {
      if (!first.has(way) && i % Object.keys(heavy).length !== n) continue
      const answer = await ask(way, body)
      assert.equal(answer.status, 400, `${way.join(' ')} ${kind}: ${answer.text}`)
      assert.match(
        answer.text,
        /nested (?:up to|more than) \d+ levels|contains more than \d+ values|can have up to \d+ elements|has more than 1000 fields/,
        `${way.join(' ')} ${kind}`,
      )
      assert.equal(parseCount, 1, `${way.join(' ')} ${kind} was parsed`)
    }
  }
})

test('the shape of JSON is checked without parsing it', () => {
  const odd = fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', 'x', 'é'), maxLength: 40 })
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ depthSize: 'medium' }, odd, fc.integer(), fc.array(tie('tree')), fc.dictionary(odd, tie('tree'))),
  }))
  fc.assert(
    fc.property(tree, fc.constantFrom(0, 1), (value, spaces) => {
      const depth = depthOf(value)
      const text = JSON.stringify(value, null, spaces)
      assert.equal(refuses(text, depth), false, text)
      if (depth > 0) assert.equal(refuses(text, depth - 1), true, text)
    }),
    { numRuns: 2_000 },
  )
  assert.equal(refuses(`[${'1,'.repeat(999_998)}1]`, 1), false)
  assert.equal(refuses(`[${'1,'.repeat(1_000_001)}1]`, 1), true)
})
