import type { KeptFor, KeptItems } from '#infra/kept-items.ts'
import { refuse } from '#core/errors.ts'
import type { Principal } from '#core/principal.ts'
import { type Body, mention, readBody } from '../model/body.ts'
import { isObject, type Json, listOf } from '../model/json.ts'
import { withSealedReasoning } from '../wire/openai-responses/write-items.ts'

const OURS = /^(?:msg|rs|fc|ctc)_[0-7][0-9A-HJKMNP-TV-Z]{25}\d{4,6}$/
const MAX_NAMED = 10_000

const namedBy = (item: unknown): string | null =>
  isObject(item) && item['type'] === 'item_reference' && typeof item['id'] === 'string' && OURS.test(item['id'])
    ? item['id']
    : null

export const ownerOfItems = ({ accountId, credential }: Principal): KeptFor => ({
  accountId,
  heldTo: credential.kind === 'session' ? null : credential.workspaceId,
})

/**
 * Items no longer stored stay references, and are refused as such. Inserted items have no IDs, which would mean nothing
 * to a vendor.
 */
export function withKeptItems(body: Body, items: KeptItems, principal: Principal): Body | Promise<Body> {
  if (!body.mentions(mention.reference)) return body
  const input = listOf(body.value('input'))
  if (!input.some((item) => namedBy(item) !== null)) return body
  const ids = new Set<string>()
  for (const [i, item] of input.entries()) {
    const id = namedBy(item)
    if (id === null) continue
    if (ids.has(id)) refuseTwice(id, i)
    ids.add(id)
  }
  return items.find(ownerOfItems(principal), [...ids].slice(0, MAX_NAMED)).then((stored) => {
    if (stored.size === 0) return body
    const whole = input.map((item) => stored.get(namedBy(item) ?? '') ?? item)
    return readBody(Buffer.from(JSON.stringify({ ...body.json, input: whole })))
  })
}

/** As OpenAI refuses it. Each reference uses as much memory as its item: many to one large item would exhaust it. */
const refuseTwice = (id: string, at: number): never =>
  refuse('invalid_parameter', {
    message: `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
    param: `input.${at}`,
  })

export const itemsToKeep = (output: readonly Json[]): { id: string; json: object }[] =>
  output
    .map(withSealedReasoning)
    .flatMap(({ id, ...json }) => (typeof id === 'string' && OURS.test(id) ? [{ id, json }] : []))
