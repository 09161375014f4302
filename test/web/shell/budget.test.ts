/** The load size of the app's pages, and the route table in the app. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '#modules/contracts.ts'
import { split } from '#interfaces/client.ts'
import type { AnyEndpoint, Area } from '#core/contract.ts'
import { moduleOf } from '../../../web/contract-routes.ts'
import { sizesOfApp } from './sizes.ts'

const KB = 1024
const FIRST_LOAD = 200 * KB
const LAZY_PART = 170 * KB
const STYLES = 20 * KB
/** The fonts preloaded for the first page. */
const FONTS = 60 * KB
const inKB = (bytes: number): string => `${(bytes / KB).toFixed(1)} KB`

test('pages and lazy-loaded parts stay within the size budget', async () => {
  const { pages, parts, diagrams, styles, fonts } = await sizesOfApp()
  for (const [name, size] of Object.entries(pages))
    assert.ok(size > 0 && size <= FIRST_LOAD, `${name} loads ${inKB(size)} of JavaScript first`)
  assert.ok(parts.length > 50)
  for (const { file, size } of parts) assert.ok(size <= LAZY_PART, `${file} has ${inKB(size)}`)
  assert.ok(diagrams > 0)
  assert.ok(fonts.count === 2 && fonts.size <= FONTS, `${fonts.count} fonts: ${inKB(fonts.size)}`)
  assert.ok(styles > 0 && styles <= STYLES, `the styles have ${inKB(styles)}`)
})

test('the route table of the app matches the contracts', async () => {
  const code = await moduleOf(contracts)
  const table = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as { contracts: typeof contracts }
  let compared = 0
  for (const [name, load] of Object.entries(contracts)) {
    const mine = (await table.contracts[name as keyof typeof contracts]()) as unknown as Area
    for (const [verb, endpoint] of Object.entries((await load()).endpoints) as [string, AnyEndpoint][]) {
      const named = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, param]) => param!)
      const paging = endpoint.reply.kind === 'page' ? ['limit', 'cursor'] : ['limit', 'offset']
      const fields = [...named, ...Object.keys(endpoint.query ?? {}), ...Object.keys(endpoint.body ?? {}), ...paging]
      const input = Object.fromEntries(fields.map((field) => [field, `a ${field}`]))
      const line = mine.endpoints[verb]!
      assert.deepEqual(split(line, input), split(endpoint, input), `${name}.${verb}`)
      assert.equal(line.method, endpoint.method)
      assert.equal(line.reply.kind, endpoint.reply.kind)
      const other = ({ reply }: AnyEndpoint): boolean => 'or' in reply && reply.or !== undefined
      assert.equal(other(line), other(endpoint), `${name}.${verb}`)
      compared++
    }
  }
  assert.ok(compared > 150)
})
