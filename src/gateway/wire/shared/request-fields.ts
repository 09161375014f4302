/** Readers of the fields of a client's request: null is as good as absent, another type is the client's mistake. */
import { refuse } from '#core/errors.ts'
import { type Json, isObject } from '../../model/json.ts'

export const wrong = (param: string, right: string): never =>
  refuse('invalid_parameter', { message: `\`${param}\` must be ${right}.`, param })

/** Joins the readings of each part of a content (null: of a type that came after this was written). At least one must be known. */
export function partsOf<T>(read: readonly (readonly T[] | null)[], param: string, right: string): T[] {
  if (read.length > 0 && read.every((part) => part === null)) wrong(`${param}.0.type`, right)
  return read.flatMap((part) => part ?? [])
}

export const missing = (param: string): never =>
  refuse('missing_parameter', { message: `\`${param}\` is required.`, param })

export function object(value: unknown, param: string): Json | undefined {
  if (value === undefined || value === null) return undefined
  return isObject(value) ? value : wrong(param, 'an object')
}

/** `right`: of a field that takes more than an array, and whose other forms have been read. */
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
  const found = number(value, param)
  if (found === undefined) return undefined
  return Number.isSafeInteger(found) && found >= least ? found : wrong(param, `an integer of at least ${least}`)
}

export function boolean(value: unknown, param: string): boolean | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'boolean' ? value : wrong(param, 'true or false')
}
