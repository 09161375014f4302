/** Null counts as absent, and a wrong type is the client's error. */
import { refuse } from '#core/errors.ts'
import { type Json, isObject } from '../../model/json.ts'

export const wrong = (param: string, right: string): never =>
  refuse('invalid_parameter', { message: `\`${param}\` must be ${right}.`, param })

/** Null marks an unknown part type; at least one part must be known. */
export function partsOf<T>(results: readonly (readonly T[] | null)[], param: string, right: string): T[] {
  if (results.length > 0 && results.every((part) => part === null)) wrong(`${param}.0.type`, right)
  return results.flatMap((part) => part ?? [])
}

export const missing = (param: string): never =>
  refuse('missing_parameter', { message: `\`${param}\` is required.`, param })

export function object(value: unknown, param: string): Json | undefined {
  if (value === undefined || value === null) return undefined
  return isObject(value) ? value : wrong(param, 'an object')
}

/** `right` describes the accepted forms in the error. */
export function list(value: unknown, param: string, right = 'an array'): unknown[] | undefined {
  if (value === undefined || value === null) return undefined
  return Array.isArray(value) ? value : wrong(param, right)
}

export function string(value: unknown, param: string): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : wrong(param, 'a string')
}

export function number(value: unknown, param: string): number | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'number' ? value : wrong(param, 'a number')
}

export function integer(value: unknown, param: string, least: number): number | undefined {
  const result = number(value, param)
  if (result === undefined) return undefined
  return Number.isSafeInteger(result) && result >= least ? result : wrong(param, `an integer of at least ${least}`)
}

export function boolean(value: unknown, param: string): boolean | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'boolean' ? value : wrong(param, 'true or false')
}
