import type { z } from 'zod'
import { thingAt } from '#core/contract.ts'
import { type Code, absent, refuse } from '#core/errors.ts'
import { type Id, parseId } from '#core/ids.ts'
import { nearWord } from '#core/text/near-word.ts'
import { firstOf, goesOn, sayFault } from '#core/faults/schema-faults.ts'
import { knownFields } from './known-fields.ts'

/** Returns the ID in its stored form. Malformed IDs are a 404, like missing ones. */
export const pathId = (path: string, name: string, words: string): Id =>
  parseId(words) ?? refuse('not_found', { param: name, message: absent(thingAt(path, name), words) })

export function parse<T extends z.ZodType>(schema: T, value: unknown, within?: string): z.output<T> {
  const result = schema.safeParse(value, { error: sayFault })
  if (result.success) return result.data
  const fault = firstOf(result.error.issues)
  const at = [...(within === undefined ? [] : [within]), ...fault.path.map(String)]
  if (fault.code === 'unrecognized_keys') {
    const [unknown] = fault.keys as [string]
    const param = [...at, unknown].join('.')
    const near = nearWord(unknown, knownFields(schema, fault.path))
    const hint = near === null ? '' : ` Did you mean \`${[...at, near].join('.')}\`?`
    return refuse('unknown_parameter', { param, message: `\`${param}\` is not a parameter of this endpoint.${hint}` })
  }
  const param = at.join('.')
  const absent = fault.code === 'invalid_type' && valueAt(value, fault.path) === undefined
  const code: Code = absent ? 'missing_parameter' : 'invalid_parameter'
  return refuse(code, {
    ...(param && { param }),
    message: `${param ? `\`${param}\`` : 'The input'}${absent ? ' is required' : goesOn(fault.message)}.`,
  })
}

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value)
