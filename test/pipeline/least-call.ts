/** Derives the minimal request of an endpoint from its contract. */
import assert from 'node:assert/strict'
import { z } from 'zod'
import type { AnyEndpoint } from '#core/contract.ts'
import { newId } from '#core/ids.ts'
import { inputSchemas } from '#core/registry.ts'
import { values } from '../makers.ts'

export const pathOf = ({ path, params }: AnyEndpoint, id: string): string =>
  path.replace(/:(\w+)/g, (_: string, name: string) => (params?.[name] ? (values[name] ?? 'x') : id))

export function requiredFields(endpoint: AnyEndpoint): string {
  const query = inputSchemas(endpoint).query
  const requiredEntries = Object.entries(query.shape).filter(
    ([, schema]) => !(schema as z.ZodType).safeParse(undefined).success,
  )
  const pairs = requiredEntries.map(([name]) => [name, values[name] ?? newId()])
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs as [string, string][]).toString()}`
}

/** The minimal valid body, so that only the ID can be refused. */
export function validBody(endpoint: AnyEndpoint): Record<string, unknown> | undefined {
  const { body } = inputSchemas(endpoint)
  if (body === null) return undefined
  const requiredEntries = Object.entries(body.shape).filter(
    ([, schema]) => !(schema as z.ZodType).safeParse(undefined).success,
  )
  return Object.fromEntries(requiredEntries.map(([name, schema]) => [name, sample(name, schema as z.ZodType)]))
}

function sample(name: string, schema: z.ZodType): unknown {
  const candidates = [
    values[name],
    newId(),
    'x',
    'list',
    'status',
    null,
    { url: 'https://example.com/x.gguf' },
    'a@example.com',
    1,
    true,
    ['user:read'],
    [],
    {},
    [{ type: 'text', text: 'x' }],
  ]
  const match = candidates.find((value) => value !== undefined && schema.safeParse(value).success)
  assert.notEqual(match, undefined, `test/makers.ts has no value for ${name}`)
  return match
}
